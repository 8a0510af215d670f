// What the plugin adds to Headlamp: an entry in the sidebar and four pages.
import { registerRoute, registerSidebarEntry } from "@kinvolk/headlamp-plugin/lib"
import { CreateInstance } from "./components/CreateInstance.tsx"
import { EditInstance } from "./components/EditInstance.tsx"
import { InstanceDetail } from "./components/InstanceDetail.tsx"
import { InstanceList } from "./components/InstanceList.tsx"
import { Readable } from "./components/Readable.tsx"
import { CREATE, DETAIL, EDIT, LIST, paths } from "./routes.ts"

registerSidebarEntry({
  parent: null,
  name: LIST,
  label: "Platform Instances",
  url: paths[LIST],
  // One of the icons that Headlamp carries: any other would be fetched from elsewhere.
  icon: "mdi:layers-triple-outline",
})

registerRoute({
  path: paths[LIST],
  sidebar: LIST,
  name: LIST,
  exact: true,
  component: () => (
    <Readable>
      <InstanceList />
    </Readable>
  ),
})
registerRoute({
  path: paths[CREATE],
  sidebar: LIST,
  name: CREATE,
  exact: true,
  component: () => (
    <Readable>
      <CreateInstance />
    </Readable>
  ),
})
registerRoute({
  path: paths[EDIT],
  sidebar: LIST,
  name: EDIT,
  exact: true,
  component: () => (
    <Readable>
      <EditInstance />
    </Readable>
  ),
})
registerRoute({
  path: paths[DETAIL],
  sidebar: LIST,
  name: DETAIL,
  exact: true,
  component: () => (
    <Readable>
      <InstanceDetail />
    </Readable>
  ),
})
