// What a run said, free of what is another at each run. The operator reads these words (`Messages.ts`) and hands them on.
// Its own first sentence stands for many of them, and for all that it does not know: by that alone any text would do.
import type { RunnerEvent } from "../../../src/services/Pulumi/Protocol.ts"

const names = (root: string): ReadonlyArray<readonly [RegExp, string]> => [
  // Where in a program it was thrown.
  [/^[ \t]+at .*$\n?/gm, ""],
  [new RegExp(root.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"), "g"), "<root>"],
  [/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<uuid>"],
  [/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.]*(?:Z| ?[+-]\d\d:?\d\d)?/g, "<time>"],
  [/\b(127\.0\.0\.1|localhost):\d{4,5}\b/g, "$1:<port>"],
  [/\bpulumi-kubernetes-[0-9a-f]{5,8}\b/g, "pulumi-kubernetes-<id>"],
  [/created by \S+@\S+ \(pid \d+\)/g, "created by <user>@<host> (pid <pid>)"],
]

/** Of a command that failed: what it called an error. The rest repeats the command line, and its progress. */
const errorsOf = (message: string): string =>
  /^code: /.test(message)
    ? message
        .replace(/^[\s\S]*?\berror: /, "error: ")
        .replace(/^( err\?:|Updating \()[\s\S]*/m, "")
        .trim()
    : message

const normalised = (text: string, root: string): string =>
  names(root)
    .reduce((rest, [pattern, name]) => rest.replace(pattern, name), errorsOf(text))
    .trim()

/** The words that the operator takes: in an order of their own, because what is done side by side fails in any. */
export const saidBy = (events: ReadonlyArray<RunnerEvent>, root: string): ReadonlyArray<string> => {
  const errors = events.flatMap((event) =>
    event.type === "diagnostic" && event.severity === "error" ? [event.message] : [],
  )
  const last = events.flatMap((event) => (event.type === "outcome" ? [event.message] : []))
  const words = errors.length > 0 ? errors : last
  return [...new Set(words.map((text) => normalised(text, root)))].sort()
}
