// The cleanup Job's process: removes one instance's directory from the node. Runs as root in a container that sees
// `<base>/<namespace>` alone. It prints one line, which becomes the termination message of the container, and exits
// 0 when the directory is gone, 1 when it is not, 2 when it was asked for something it never does.
//
//   node cleanup.mjs --base=<storage root base> --current-base=<the operator's> --namespace=<namespace> --name=<name>
//     [--mount=/storage]
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { RemovalError, removeDirectory } from "./Removal.ts"
import { type CleanupTarget, mountProblem, nodePath, targetProblem } from "./Target.ts"

const end = (exitCode: 0 | 1 | 2, line: string): never => {
  process.stdout.write(`${line}\n`)
  process.exit(exitCode)
}

const request = (): CleanupTarget => {
  try {
    const { values } = parseArgs({
      options: {
        base: { type: "string", default: "" },
        "current-base": { type: "string", default: "" },
        namespace: { type: "string", default: "" },
        name: { type: "string", default: "" },
        mount: { type: "string", default: "/storage" },
      },
    })
    return { ...values, currentBase: values["current-base"] }
  } catch (error) {
    return end(2, `refused: ${error instanceof Error ? error.message.split("\n")[0] : "wrong arguments"}`)
  }
}

const target = request()
const refused = targetProblem(target)
if (refused !== undefined) end(2, `refused: ${refused}`)
const mounts = mountProblem(readFileSync("/proc/self/mountinfo", "utf8"), target)
if (mounts !== undefined) end(1, `removed nothing: ${mounts}`)
try {
  const removed = removeDirectory(target.mount, target.name)
  end(0, removed ? `removed ${nodePath(target)}` : `nothing to remove at ${nodePath(target)}`)
} catch (error) {
  const why = error instanceof RemovalError ? error.message : "unexpected failure"
  end(1, `cannot remove ${nodePath(target)}: ${why}`)
}
