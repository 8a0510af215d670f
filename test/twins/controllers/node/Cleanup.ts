// The cleanup container: the checks and the words of src/services/Cleanup, over the node's folders.
import { parseArgs } from "node:util"
import { Effect } from "effect"
import {
  type CleanupTarget,
  mountProblem,
  nodePath,
  targetProblem,
} from "../../../../src/services/Cleanup/Target.ts"
import type { NodeFiles } from "./Files.ts"
import type { ContainerContext, ContainerProgram, Exit } from "./Program.ts"

const requested = (args: ReadonlyArray<string>): CleanupTarget => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      base: { type: "string", default: "" },
      "current-base": { type: "string", default: "" },
      namespace: { type: "string", default: "" },
      name: { type: "string", default: "" },
      mount: { type: "string", default: "/storage" },
    },
  })
  return { ...values, currentBase: values["current-base"] }
}

/** What the container would read in /proc/self/mountinfo: a mount is told by the path on its own file system. */
const mountInfo = (files: NodeFiles, folder: string, mount: string): string =>
  [
    `100 99 8:1 ${folder.slice(files.mountedAt(folder).length) || "/"} ${mount} rw - ext4 /dev/sda1 rw`,
    ...files
      .mountsBelow(folder)
      .filter((point) => point !== folder)
      .map((point) => `101 100 8:2 / ${mount}${point.slice(folder.length)} rw - ext4 /dev/sdb1 rw`),
  ].join("\n")

/** What the container does, in one moment. */
export const remove = ({
  files,
  mounted,
  container,
}: Pick<ContainerContext, "files" | "mounted" | "container">): Exit => {
  const target = requested(container.args ?? [])
  const refused = targetProblem(target)
  if (refused !== undefined) return { code: 2, log: `refused: ${refused}` }
  const folder = mounted(target.mount)
  const mounts =
    folder === undefined
      ? `nothing is mounted at ${target.mount}`
      : mountProblem(mountInfo(files, folder, target.mount), target)
  if (folder === undefined || mounts !== undefined) return { code: 1, log: `removed nothing: ${mounts}` }
  const path = `${folder}/${target.name}`
  const failed = (why: string): Exit => ({ code: 1, log: `cannot remove ${nodePath(target)}: ${why}` })
  const entry = files.get(path)
  if (entry === undefined) return { code: 0, log: `nothing to remove at ${nodePath(target)}` }
  if (entry.type === "link") return failed(`${target.name} is a symbolic link`)
  if (entry.type === "file") return failed(`${target.name} is not a directory`)
  const left = files.removeTree(path)
  if (left !== undefined) return failed(`${left.path.slice(left.path.lastIndexOf("/") + 1)}: ${left.code}`)
  return { code: 0, log: `removed ${nodePath(target)}` }
}

/** Registered for the operator's own image: what a container of it does that runs `cleanup.mjs`. */
export const cleanup: ContainerProgram = (context) =>
  Effect.suspend(() =>
    // Node's start, and the removal of a few thousand files.
    Effect.as(Effect.sleep(200 + context.tasks.random() * 2_000), undefined).pipe(
      Effect.map(() => remove(context)),
    ),
  )

export const isCleanup = (command: ReadonlyArray<string> | undefined): boolean =>
  command?.some((word) => word.endsWith("cleanup.mjs")) === true
