// bundle.ts OUTDIR [ENTRY...]: one file an entry point, as the image runs them: the sources start in 0.8 s from
// node_modules and in 0.2 s as one file. Development runs the sources as they are.
//
// An entry is one of those below, or `NAME=SOURCE`. Prints the size of each bundle.
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { parseArgs } from "node:util"
import { build } from "esbuild"

/** The image's file names (without `.mjs`) and what each is made of. */
const entries: Readonly<Record<string, string>> = {
  main: "src/main.ts",
  runner: "src/services/Pulumi/runner/main.ts",
  cleanup: "src/services/Cleanup/main.ts",
  "rotate-passphrase": "src/services/Rotation/main.ts",
  backup: "src/services/Backup/main.ts",
  "kubectl-pi": "src/cli/main.ts",
}
/** Run by themselves, from a PATH, by whichever Node.js is there. */
const programs = new Set(["kubectl-pi"])
const shebang = "#!/usr/bin/env node\n"
const oldest = 24
/** An older Node.js says that it is too old, and not which part of the program it does not understand. */
const versionCheck = (name: string) =>
  `if(Number.parseInt(process.versions.node)<${oldest}){console.error("${name}: this is Node.js "+process.versions.node+", and it needs Node.js ${oldest} or later in the PATH");process.exit(1)}`

const { positionals } = parseArgs({ allowPositionals: true })
const [outdir, ...names] = positionals
if (outdir === undefined) throw new Error("usage: bundle.ts OUTDIR [ENTRY...]")
const wanted = names.length === 0 ? Object.keys(entries) : names
const entryPoints = wanted.map((wish) => {
  const [name = wish, source = entries[wish]] = wish.split("=")
  if (source === undefined) throw new Error(`no entry point ${name}: ${Object.keys(entries).join(", ")}`)
  if (!existsSync(source)) throw new Error(`${source} is not there`)
  return { in: source, out: name }
})

const bundled = async (entry: (typeof entryPoints)[number]) => {
  const isProgram = programs.has(entry.out)
  const { outputFiles } = await build({
    entryPoints: [entry],
    // Source maps name the sources relative to this folder: written elsewhere they would differ by where that is.
    outdir: "dist",
    write: false,
    bundle: true,
    platform: "node",
    // A program's syntax is one that an older Node.js can read, or it would not come to its version check.
    target: isProgram ? "node18" : `node${oldest}`,
    format: "esm",
    outExtension: { ".js": ".mjs" },
    // A program is one file, without a map beside it.
    sourcemap: isProgram ? false : "linked",
    // Sources are in the repository; a map without them is a tenth of the size and gives the same lines.
    sourcesContent: false,
    minifySyntax: true,
    minifyWhitespace: true,
    // Names stay as they are in stack traces and tags.
    keepNames: false,
    legalComments: "none",
    logLevel: "warning",
    // CommonJS dependencies ask for Node's own modules by `require`, which an ES module does not have.
    banner: {
      js: `import{createRequire as $createRequire}from"node:module";const require=$createRequire(import.meta.url);${isProgram ? versionCheck(entry.out) : ""}`,
    },
  })
  return outputFiles
}
const outputFiles = (await Promise.all(entryPoints.map(bundled))).flat()

mkdirSync(outdir, { recursive: true })
for (const { path, contents } of outputFiles) {
  const file = join(outdir, basename(path))
  const isProgram = programs.has(basename(path, ".mjs"))
  writeFileSync(file, isProgram ? Buffer.concat([Buffer.from(shebang), contents]) : contents)
  if (isProgram) chmodSync(file, 0o755)
  if (path.endsWith(".mjs")) console.log(`${basename(path)} ${Math.ceil(contents.length / 1024)} KiB`)
}
