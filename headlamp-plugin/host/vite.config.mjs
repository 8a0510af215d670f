// Builds the host page from Headlamp's own compiled library, with the Vite that the plugin's tools bring along.
import react from "@vitejs/plugin-react"
import svgr from "vite-plugin-svgr"

const lib = new URL("../node_modules/@kinvolk/headlamp-plugin/lib", import.meta.url).pathname

export default {
  root: import.meta.dirname,
  define: { global: "globalThis", "process.env": {} },
  plugins: [
    svgr({ include: "**/*.svg", svgrOptions: { titleProp: true, ref: true, svgo: false, prettier: false } }),
    react(),
  ],
  resolve: {
    alias: { "@headlamp": lib },
    // Two copies of these would not see each other's contexts.
    dedupe: ["react", "react-dom", "react-redux", "react-router", "react-router-dom", "@mui/material"],
  },
  build: { outDir: "dist", emptyOutDir: true, minify: false, chunkSizeWarningLimit: 99999 },
}
