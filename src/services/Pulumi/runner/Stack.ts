// What the Automation API does for a stack with more calls of the CLI than this operator needs. Each call starts a
// process, takes a third of a second of CPU time, and derives the key of the passphrase again.
import type { OutputMap, Stack } from "@pulumi/pulumi/automation/index.js"
import { Schema } from "effect"
import type { RunRequest } from "../Protocol.ts"
import { pulumi } from "./Cli.ts"

/** What the CLI prints in the place of a secret output (seen: 3.274.1). */
const masked = "[secret]"

const decodeOutputs = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)),
)

/** The outputs, secret ones without their values: one call, and nothing is decrypted. */
const outputsOf = async (request: RunRequest): Promise<OutputMap> => {
  const outputs = decodeOutputs(await pulumi(request, ["stack", "output", "--json"]))
  return Object.fromEntries(
    Object.entries(outputs).map(([key, value]) => [key, { value, secret: value === masked }]),
  )
}

/**
 * Each `refresh` and `up` ends with a look at the history for a summary, which nobody here reads, and `up` with the
 * outputs twice, masked and in the clear (read in 3.261.0).
 */
export const askForLess = (stack: Stack, request: RunRequest): void => {
  stack.info = () => Promise.resolve(undefined)
  stack.outputs = () => outputsOf(request)
}
