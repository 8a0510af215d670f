// The project's program in one process: the operator's own wrapper and the package's own files, run as they lie on the
// disk. Only waiting is taken apart: the wrapper is an async function, and runs here step by step.
import path from "node:path"
import { Predicate } from "effect"
import { remember } from "../remember.ts"
import type { Volume } from "../Volume.ts"
import { readText } from "../Volume.ts"
import { makeLoader } from "./Modules.ts"
import type { Goal } from "./Output.ts"
import { makeSdk, type StackConfig } from "./Sdk.ts"

/** Where a program stands: it waits for a value, or it has returned its outputs. */
export type Halt =
  | { readonly _tag: "Waits"; readonly value: unknown }
  | { readonly _tag: "Returned"; readonly outputs: Readonly<Record<string, unknown>> }

export interface Program {
  /** What is registered so far; it grows. */
  readonly goals: ReadonlyArray<Goal>
  /** Runs on with the value it waited for. Throws what the program throws. */
  readonly next: (value?: unknown) => Halt
  /** Runs on with a failure in the place of that value. */
  readonly fail: (error: unknown) => Halt
}

/** An async function as a generator: the one form in which the wrapper waits. */
const stepwise = remember((text: string): string => {
  const rewritten = text
    .replaceAll(/= async \(\) => \{/g, "= function* () {")
    .replaceAll(/\bawait (?=[a-z])/g, "yield ")
  if (/\basync\b/.test(rewritten)) throw new Error("the program waits in a way that the twin does not know")
  return rewritten
})

const isGenerator = (value: unknown): value is Generator<unknown, unknown, unknown> =>
  Predicate.isObject(value) && "next" in value && typeof value.next === "function"

const halted = ({ done, value }: IteratorResult<unknown, unknown>): Halt =>
  done === true
    ? { _tag: "Returned", outputs: Predicate.isObject(value) ? { ...value } : {} }
    : { _tag: "Waits", value }

/** Loads and starts it, up to the first value it waits for. */
export const startProgram = (
  volume: Volume,
  directory: string,
  project: string,
  config: StackConfig,
  dry = false,
): { readonly program: Program; readonly first: Halt } => {
  const sdk = makeSdk(project, config, dry)
  const file = path.join(volume.realpath(directory), "index.js")
  const given: Readonly<Record<string, unknown>> = {
    "@pulumi/pulumi": sdk.pulumi,
    "@pulumi/kubernetes": sdk.kubernetes,
    "node:path": path.posix,
    "node:fs": {
      readFileSync: (name: string) => {
        const text = readText(volume, name)
        if (text === undefined) throw new Error(`ENOENT: no such file or directory, open '${name}'`)
        return text
      },
    },
    "node:module": { createRequire: (from: string) => loader.requireFrom(from) },
  }
  const loader = makeLoader(
    volume,
    (name) => given[name],
    (each, text) => (each === file ? stepwise(text) : text),
  )
  const run = loader.requireFrom(file)("./index.js")
  const running: unknown = typeof run === "function" ? run() : undefined
  if (!isGenerator(running)) throw new TypeError("the project's index.js exports no function that runs it")
  return {
    program: {
      goals: sdk.goals,
      next: (value) => halted(running.next(value)),
      fail: (error) => halted(running.throw(error)),
    },
    first: halted(running.next()),
  }
}
