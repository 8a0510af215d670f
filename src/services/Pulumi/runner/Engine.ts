// Runs the project's program through the Automation API that the platform package itself depends on, so that
// engine client and program share one `@pulumi/pulumi`, at the version the package pins.
import { createRequire } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type { PulumiFn } from "@pulumi/pulumi/automation/index.js"
import { Schema } from "effect"
import type { PlannedStep } from "../../../schema/Plan.ts"
import { tracesVariable } from "../Environment.ts"
import { platformPackageName } from "../Layout.ts"
import { Outputs, type RunRequest } from "../Protocol.ts"
import type { Cancellation } from "./Cancellation.ts"
import { optionVariable } from "./Cli.ts"
import { setConfig } from "./Config.ts"
import { makePlanned } from "./Planned.ts"
import type { Progress } from "./Progress.ts"
import { askForLess } from "./Stack.ts"

type Automation = typeof import("@pulumi/pulumi/automation/index.js")

/** The engine leaves its spans in a file that is named after the step, where the operator asks for them. */
const traced = async <A>(step: string, run: () => Promise<A>): Promise<A> => {
  const folder = process.env[tracesVariable]
  if (folder === undefined) return await run()
  process.env[optionVariable] = pathToFileURL(join(folder, `${step}.json`)).href
  try {
    return await run()
  } finally {
    delete process.env[optionVariable]
  }
}

/** The shape that the stack's outputs have before only the named ones are passed on. */
const StackOutputs = Schema.Struct({
  schemaVersion: Schema.Literal(2),
  namespace: Schema.String,
  endpoints: Schema.optionalKey(Outputs.fields.endpoints),
  tenants: Schema.optionalKey(Schema.Array(Schema.Struct({ name: Schema.String }))),
})

const load = (directory: string): { readonly automation: Automation; readonly program: PulumiFn } => {
  const project = createRequire(join(directory, "index.js"))
  const platform = createRequire(project.resolve(`${platformPackageName}/package.json`))
  const automation: Automation = platform("@pulumi/pulumi/automation/index.js")
  let ran = false
  return {
    automation,
    program: () => {
      if (ran)
        throw new Error("the program has run in this process already; a second run would delete everything")
      ran = true
      const program: PulumiFn = project("./index.js")
      return program()
    },
  }
}

/** What a run has come to: what it has made, or what it would make. */
export type Done =
  | { readonly type: "outputs"; readonly outputs: Outputs }
  | { readonly type: "planned"; readonly steps: ReadonlyArray<PlannedStep> }

/** The steps of a run in their order. Rejects with the first failure, or with `Cancelled` between two steps. */
export const runProgram = async (
  request: RunRequest,
  cancellation: Cancellation,
  progress: Progress,
): Promise<Done> => {
  const begin = (step: string) => {
    cancellation.check()
    progress.begin(step)
  }
  begin("load package")
  const { automation, program } = load(request.projectDirectory)
  begin("select stack")
  const stack = await automation.LocalWorkspace.createOrSelectStack(
    { stackName: request.stack, projectName: request.project, program },
    { workDir: request.projectDirectory, secretsProvider: "passphrase" },
  )
  askForLess(stack, request)
  begin("set config")
  await setConfig(stack, request)
  const options = {
    signal: cancellation.signal,
    color: "never",
    suppressProgress: true,
    suppressOutputs: true,
    onEvent: progress.onEvent,
  } as const
  if (request.preview === true) {
    begin("preview")
    const planned = makePlanned()
    const onEvent: typeof progress.onEvent = (event) => {
      planned.onEvent(event)
      progress.onPreview(event)
    }
    await traced("preview", () => stack.preview({ ...options, onEvent, refresh: true }))
    return { type: "planned", steps: planned.steps() }
  }
  if (request.refresh) {
    begin("refresh")
    await traced("refresh", () => stack.refresh({ ...options, clearPendingCreates: true }))
  }
  begin("up")
  const { outputs } = await traced("up", () => stack.up(options))
  progress.begin("read outputs")
  const named = Schema.decodeUnknownSync(StackOutputs)(
    Object.fromEntries(
      Object.entries(outputs).flatMap(([key, output]) => (output.secret ? [] : [[key, output.value]])),
    ),
  )
  return {
    type: "outputs",
    outputs: {
      schemaVersion: named.schemaVersion,
      namespace: named.namespace,
      endpoints: named.endpoints ?? {},
      tenants: (named.tenants ?? []).map((tenant) => tenant.name),
    },
  }
}
