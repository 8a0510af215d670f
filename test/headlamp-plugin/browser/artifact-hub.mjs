// Loaded before pluginctl: answers as Artifact Hub and GitHub would, from files.
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"

const { ARCHIVE, METADATA } = process.env
const { parse } = createRequire(new URL("../../../package.json", import.meta.url))("yaml")
const described = parse(readFileSync(METADATA, "utf8"))

globalThis.fetch = async (url) => {
  if (String(url) === described.annotations["headlamp/plugin/archive-url"])
    return new Response(readFileSync(ARCHIVE))
  if (
    String(url) !==
    "https://artifacthub.io/api/v1/packages/headlamp/di-framework-platform/di-framework-platform"
  )
    return new Response("", { status: 404 })
  return Response.json({
    name: described.name,
    display_name: described.displayName,
    version: described.version,
    available_versions: [{ version: described.version }],
    repository: { name: "di-framework-platform", user_alias: "di-framework", url: described.homeURL },
    // Artifact Hub gives out the annotations under `data`.
    data: described.annotations,
  })
}
