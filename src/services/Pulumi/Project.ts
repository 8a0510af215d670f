// The Pulumi project on disk. The runner runs its program inline, but the project is complete all the same: an
// administrator can look at an installation with `pulumi stack` in it.
import { Effect, FileSystem, Option } from "effect"
import { stringify } from "yaml"
import type { InstancePaths } from "../StateStore/StateStore.ts"
import { backendUrl, platformPackageName, projectName } from "./Layout.ts"
import type { PlatformPackage } from "./Pulumi.ts"

const packageJson = (version: string): string =>
  `${JSON.stringify(
    {
      name: projectName,
      private: true,
      main: "index.js",
      dependencies: { [platformPackageName]: version },
    },
    null,
    2,
  )}\n`

const pulumiYaml = (paths: InstancePaths): string =>
  stringify({
    name: projectName,
    description: "What the platform operator installed for one PlatformInstance",
    runtime: { name: "nodejs", options: { typescript: false } },
    backend: { url: backendUrl(paths) },
  })

/** Writes what differs. Fails with the error of the file system. */
export const writeProject = Effect.fn("Project.write")(function* (
  paths: InstancePaths,
  platform: PlatformPackage,
  wrapperPath: string,
) {
  const fs = yield* FileSystem.FileSystem
  const write = Effect.fnUntraced(function* (name: string, content: string) {
    const file = `${paths.project}/${name}`
    const there = yield* fs.readFileString(file).pipe(Effect.option)
    if (Option.contains(there, content)) return
    yield* fs.writeFileString(`${file}.new`, content, { mode: 0o600 })
    yield* fs.rename(`${file}.new`, file)
  })
  yield* write("package.json", packageJson(platform.version))
  yield* write("Pulumi.yaml", pulumiYaml(paths))
  yield* write("index.js", yield* fs.readFileString(wrapperPath))

  const link = `${paths.project}/node_modules`
  const target = `${platform.directory}/node_modules`
  const there = yield* fs.readLink(link).pipe(Effect.option)
  if (Option.contains(there, target)) return
  yield* fs.remove(link, { recursive: true, force: true })
  yield* fs.symlink(target, link)
})
