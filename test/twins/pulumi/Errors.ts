// How a program fails: with the words that the real one says.
import { Data } from "effect"

export class CliError extends Data.TaggedError("CliError")<{ readonly message: string }> {}

/** The words of whatever was thrown. */
export const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
