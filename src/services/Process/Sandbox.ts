// Starts a program that can open nothing but what it is given: what runs other people's code. The program that does it is
// `platform-sandbox` (tools/programs/platform-sandbox), by Landlock; it needs no privileges, and a kernel that has it.
import { Effect, Option } from "effect"
import { runChild } from "./Child.ts"
import { findProgram } from "./Programs.ts"

/** Absolute paths; a folder stands for all that is below it. Links are followed at the start, and none can be made. */
export interface Grants {
  /** To be read and executed. What is not there, or cannot be opened, is left out. */
  readonly read: ReadonlyArray<string>
  /** To be read, executed, written, made and removed. Has to be there. */
  readonly write: ReadonlyArray<string>
}

/** What to start instead: it becomes that command, in the same process and with the same pipes. */
export const confined = (
  launcher: string,
  { read, write }: Grants,
  command: string,
  args: ReadonlyArray<string>,
): { readonly command: string; readonly args: ReadonlyArray<string> } => ({
  command: launcher,
  args: [
    "run",
    ...read.flatMap((path) => ["--read", path]),
    ...write.flatMap((path) => ["--write", path]),
    "--",
    command,
    ...args,
  ],
})

export type SandboxState =
  /** `abi`: the version of Landlock's interface that this kernel has; see `shortcomings`. */
  | { readonly _tag: "Available"; readonly launcher: string; readonly abi: number }
  | { readonly _tag: "Unavailable"; readonly reason: string }

const name = "platform-sandbox"

/** Looks for the launcher on the PATH and has it confine itself, once. */
export const probeSandbox = Effect.fn("Process.probeSandbox")(function* () {
  const unavailable = (reason: string): SandboxState => ({ _tag: "Unavailable", reason })
  const launcher = yield* findProgram(name)
  if (Option.isNone(launcher)) return unavailable(`${name} is not on PATH`)
  const result = yield* Effect.result(
    runChild({ command: launcher.value, args: ["probe"], env: {}, grace: "1 second" }),
  )
  if (result._tag === "Failure") return unavailable(result.failure.message)
  const { exitCode, stdout, stderr } = result.success
  const abi = Number.parseInt(stdout, 10)
  return Option.contains(exitCode, 0) && abi > 0
    ? ({ _tag: "Available", launcher: launcher.value, abi } satisfies SandboxState)
    : unavailable(stderr.trim() || `${name} ended without a word`)
})

/** What an older kernel than Linux 6.12 does not keep a confined program from (landlock(7)). */
export const shortcomings = (abi: number): ReadonlyArray<string> => [
  ...(abi < 3 ? ["cutting off files of others"] : []),
  ...(abi < 6 ? ["signals to the operator"] : []),
]

/** Whether files of others are safe, which is what a sandbox is required for. */
export const isWhole = (abi: number): boolean => abi >= 3
