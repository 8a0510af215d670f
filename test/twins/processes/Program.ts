// What a simulated program is given, and what it is.
import type { Effect, Stream } from "effect"
import type { Files } from "../files/Files.ts"

export interface ForkOptions {
  /** Holds its parent's stdout and stderr open, as a child of a shell does. Default: neither. */
  readonly inheritOutput?: boolean
  /** Leads a process group of its own, where a signal to the parent's group misses it. */
  readonly ownGroup?: boolean
}

export interface ProcessContext {
  /** The command as it was called, then its arguments. */
  readonly argv: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly pid: number
  readonly session: number
  /** Lines, without their ends. Ends when the parent closes it, or dies. */
  readonly stdin: Stream.Stream<string>
  /** All of it, to its end. */
  readonly readStdin: Effect.Effect<string>
  /** Throws `BrokenPipe` when nobody reads any more, which ends a program that does not catch it. */
  readonly stdout: (text: string) => void
  readonly stderr: (text: string) => void
  /**
   * The next signal that asks for an end. From the first time on that a program waits for it, none of them ends it by
   * itself any more.
   */
  readonly signalled: Effect.Effect<NodeJS.Signals>
  /** From now on they pass it by, except SIGKILL. */
  readonly ignoreSignals: () => void
  /** Starts another process of the same session, which outlives its parent. Its pid. */
  readonly fork: (name: string, program: Program, options?: ForkOptions) => number
  /** Sends a signal to a process of the same container. */
  readonly signal: (pid: number, signal: NodeJS.Signals) => void
  /** Completes when that process of the same container has ended. */
  readonly ended: (pid: number) => Effect.Effect<void>
  /** The files as this process sees them: its user, its folder. */
  readonly files: Files
}

/** Its result is the exit code. One that fails or dies has code 1 and says why on stderr. */
export type Program = (context: ProcessContext) => Effect.Effect<number, unknown>
