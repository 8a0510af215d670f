// The least around the plugin that is Headlamp: its store, theme, plugin loader, sidebar, routes and k8s library, as they
// are published. Only the frame of the page is ours, because Headlamp's own is in no package.

// In this order: Headlamp's modules import each other in circles, and some are not there yet when begun from elsewhere.
import "@headlamp/i18n/config"
import "@headlamp/lib/queryClient"
import "@headlamp/lib/router/createRouteURL"
import "@headlamp/lib/themes"
import "@headlamp/redux/stores/store"
import RouteSwitcher, { PreviousRouteProvider } from "@headlamp/components/App/RouteSwitcher"
import { useCurrentAppTheme } from "@headlamp/components/App/themeSlice"
import { ActivitiesRenderer } from "@headlamp/components/activity/Activity"
import Sidebar from "@headlamp/components/Sidebar"
import "@headlamp/components/common"
import i18n from "@headlamp/i18n/config"
import { request } from "@headlamp/lib/k8s/api/v1/clusterRequests"
import { queryClient } from "@headlamp/lib/queryClient"
import { setStore } from "@headlamp/lib/router/createRouteURL"
import { createMuiTheme } from "@headlamp/lib/themes"
import Plugins from "@headlamp/plugin/Plugins"
import { setConfig } from "@headlamp/redux/configSlice"
import { useTypedSelector } from "@headlamp/redux/hooks"
import store from "@headlamp/redux/stores/store"
import { addCollection } from "@iconify/react"
import mdi from "@iconify-json/mdi/icons.json"
import Box from "@mui/material/Box"
import CssBaseline from "@mui/material/CssBaseline"
import { ThemeProvider } from "@mui/material/styles"
import { QueryClientProvider, useQuery } from "@tanstack/react-query"
import { SnackbarProvider } from "notistack"
import { useMemo } from "react"
import { createRoot } from "react-dom/client"
import { I18nextProvider } from "react-i18next"
import { Provider } from "react-redux"
import { BrowserRouter } from "react-router-dom"

// Headlamp carries those it uses; nothing is fetched.
addCollection(mdi)
setStore(store)

const Frame = () => {
  const pluginsLoaded = useTypedSelector((state) => state.plugins.loaded)
  const clusters = useTypedSelector((state) => state.config.clusters)
  useQuery({
    queryKey: ["config"],
    queryFn: async () => {
      const config = await request("/config", {}, false, false)
      const byName = Object.fromEntries(config.clusters.map((cluster) => [cluster.name, cluster]))
      store.dispatch(setConfig({ ...config, clusters: byName }))
      return config
    },
  })
  return (
    <>
      <CssBaseline />
      <Box sx={{ display: "flex", height: "100dvh" }}>
        <Sidebar />
        <Box component="main" id="main" sx={{ flexGrow: 1, overflow: "auto", p: 2 }}>
          {pluginsLoaded && clusters && <RouteSwitcher requiresToken={() => false} />}
        </Box>
        <ActivitiesRenderer />
      </Box>
    </>
  )
}

const App = () => {
  const name = useCurrentAppTheme()
  const theme = useMemo(() => createMuiTheme(name), [name])
  return (
    <I18nextProvider i18n={i18n}>
      <ThemeProvider theme={theme}>
        <SnackbarProvider>
          <BrowserRouter>
            <PreviousRouteProvider>
              <Plugins />
              <Frame />
            </PreviousRouteProvider>
          </BrowserRouter>
        </SnackbarProvider>
      </ThemeProvider>
    </I18nextProvider>
  )
}

const root = document.getElementById("root")
if (root !== null)
  createRoot(root).render(
    <Provider store={store}>
      <QueryClientProvider client={queryClient}>
        <App />
      </QueryClientProvider>
    </Provider>,
  )
