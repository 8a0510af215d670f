// Follows a runner's events to its last word. It hangs when nothing is being awaited and nothing was heard of
// for a while; awaiting a slow resource is no hang.
import { Clock, type Duration, Effect, Option, Queue } from "effect"
import type { PlannedStep } from "../../schema/Plan.ts"
import { isSpanName } from "../Telemetry/TraceTable.ts"
import { type Failure, pastSpan } from "../Telemetry/Tracing.ts"
import type { UnmadeRelease } from "./Adoption.ts"
import type { Outputs, RunnerEvent } from "./Protocol.ts"
import type { OperationProgress } from "./Pulumi.ts"
import type { Ended } from "./Runner.ts"

export type Ending =
  | {
      readonly _tag: "Succeeded"
      readonly outputs: Outputs
      readonly changes: Readonly<Record<string, number>>
    }
  /** A preview, in its whole. */
  | { readonly _tag: "Planned"; readonly steps: ReadonlyArray<PlannedStep> }
  /** `words`: what was said about it, not redacted. */
  | { readonly _tag: "Failed"; readonly step: string; readonly words: string; readonly cancelled: boolean }
  | { readonly _tag: "Hangs"; readonly step: string }

/** What is known while it runs: read when it has to be cut off. */
export interface Followed {
  step: string
  /** URN and operation of what is being awaited. */
  readonly awaited: Map<string, string>
  /** What the engine has made, changed or removed, for people. */
  readonly changed: Array<string>
  /** Helm releases inside that the engine could not make. */
  readonly unmade: Array<UnmadeRelease>
  /** Gets what the engine says, not redacted. */
  hear: (words: string) => Effect.Effect<void>
}

export const makeFollowed = (): Followed => ({
  step: "start",
  awaited: new Map(),
  changed: [],
  unmade: [],
  hear: () => Effect.void,
})

/** The last part of a URN, `<type>::<name>`, for people. */
const shortName = (urn: string): string => urn.split("::").slice(2).join(" ")

/** What the engine's operations do to an object; of a replacement, its part that makes the new one. */
const deeds: ReadonlyMap<string, string> = new Map([
  ["create", "created"],
  ["update", "updated"],
  ["create-replacement", "replaced"],
  ["delete", "deleted"],
])

/** A deed of the engine in the target, for people: `ConfigMap settings (created)`. A provider is no object of it. */
export const deedOf = (urn: string, operation: string): Option.Option<string> => {
  const [type = "", ...name] = urn.split("::").slice(2)
  const deed = deeds.get(operation)
  if (deed === undefined || type.includes("pulumi:providers:")) return Option.none()
  return Option.some(`${type.slice(type.lastIndexOf(":") + 1)} ${name.join("::")} (${deed})`)
}

/** What is being awaited, at most three of it. Empty when nothing is. */
export const awaitedNames = (followed: Followed): string => {
  const names = [...followed.awaited.keys()].map(shortName)
  const more = names.length > 3 ? ` and ${names.length - 3} more` : ""
  return names.slice(0, 3).join(", ") + more
}

/**
 * The words of a failure: the engine's error messages say it best; the runner's last word repeats all output. What another
 * message has in it is told once: of a program that throws the engine says the error with its stack, and then without.
 */
export const wordsOf = (errors: ReadonlyArray<string>, message: string): string => {
  const told = [...new Set(errors)]
  const said = told.filter((each) => !told.some((other) => other !== each && other.includes(each)))
  return said.length > 0 ? said.join("\n") : message
}

export const follow = Effect.fn("Pulumi.follow")(function* (
  events: Queue.Dequeue<RunnerEvent | Ended>,
  followed: Followed,
  hang: Duration.Input,
  onProgress: (progress: OperationProgress) => Effect.Effect<void>,
) {
  const errors: Array<string> = []
  let outputs: Outputs | undefined
  let planned: ReadonlyArray<PlannedStep> | undefined
  let stepBegan = yield* Clock.currentTimeMillis
  const stepEnded = Effect.fnUntraced(function* (failure?: Failure) {
    const now = yield* Clock.currentTimeMillis
    const name = `pulumi.${followed.step}`
    if (isSpanName(name)) yield* pastSpan(name, stepBegan, failure)
    yield* Effect.logDebug("engine step ended").pipe(
      Effect.annotateLogs({ step: followed.step, milliseconds: now - stepBegan }),
    )
    stepBegan = now
  })
  while (true) {
    const event =
      followed.awaited.size > 0
        ? Option.some(yield* Queue.take(events))
        : yield* Queue.take(events).pipe(Effect.timeoutOption(hang))
    if (Option.isNone(event)) return { _tag: "Hangs", step: followed.step } satisfies Ending
    const heard = event.value
    switch (heard.type) {
      case "step":
        yield* stepEnded()
        followed.step = heard.step
        followed.awaited.clear()
        yield* onProgress({ step: heard.step })
        break
      case "resource":
        if (heard.state === "started") followed.awaited.set(heard.urn, heard.operation)
        else followed.awaited.delete(heard.urn)
        if (heard.release !== undefined) followed.unmade.push({ urn: heard.urn, ...heard.release })
        if (followed.step === "up" && heard.state === "done")
          followed.changed.push(...Option.toArray(deedOf(heard.urn, heard.operation)))
        yield* onProgress({ step: followed.step, moved: true })
        break
      case "diagnostic":
        if (heard.severity === "error") errors.push(heard.message)
        yield* followed.hear(heard.message)
        break
      case "outputs":
        outputs = heard.outputs
        break
      case "planned":
        planned = heard.steps
        break
      case "engine":
        break
      case "refused":
        return {
          _tag: "Failed",
          step: followed.step,
          words: heard.message,
          cancelled: false,
        } satisfies Ending
      case "outcome":
        // Its words are not redacted here: the span of the run has them.
        yield* stepEnded(
          heard.outcome === "succeeded" ? undefined : { reason: `engine ${heard.outcome}`, message: "" },
        )
        if (heard.outcome === "succeeded" && planned !== undefined) {
          return { _tag: "Planned", steps: planned } satisfies Ending
        }
        return (
          heard.outcome === "succeeded" && outputs !== undefined
            ? { _tag: "Succeeded", outputs, changes: heard.changes }
            : {
                _tag: "Failed",
                step: heard.step,
                words: wordsOf(errors, heard.message),
                cancelled: heard.outcome === "cancelled",
              }
        ) satisfies Ending
      case "ended": {
        const how = Option.match(heard.exitCode, {
          onNone: () => "the runner was killed by a signal (SIGKILL)",
          onSome: (code) => `the runner ended with exit code ${code}`,
        })
        const words = `${how}\n${heard.words}`
        yield* followed.hear(words)
        return { _tag: "Failed", step: followed.step, words, cancelled: false } satisfies Ending
      }
    }
  }
})
