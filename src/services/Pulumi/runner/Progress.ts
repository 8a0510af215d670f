// Turns what the engine tells about its work into events of the protocol.
import type { EngineEvent, StepEventMetadata } from "@pulumi/pulumi/automation/index.js"
import { releaseType } from "../Layout.ts"
import { emit } from "./Channel.ts"

export interface Progress {
  readonly begin: (step: string) => void
  readonly step: () => string
  /** How many of each, by the last summary of the engine. */
  readonly changes: () => Readonly<Record<string, number>>
  readonly onEvent: (event: EngineEvent) => void
  /** The same of a preview, in which nothing is done, and nothing awaited. */
  readonly onPreview: (event: EngineEvent) => void
}

/** Colour marks of the engine's messages, such as `<{%reset%}>`. */
const plain = (message: string): string => message.replaceAll(/<\{%[^%]*%\}>/g, "").trim()

/** Which Helm release it is, when it is one, and what it hangs on. */
const releaseOf = ({ type, new: wanted }: StepEventMetadata) => {
  const { name, namespace }: Readonly<Record<string, unknown>> = wanted?.inputs ?? {}
  return type === releaseType && typeof name === "string" && typeof namespace === "string"
    ? {
        release: {
          name,
          namespace,
          ...(wanted?.parent === undefined ? {} : { parent: wanted.parent }),
          ...(wanted?.provider === undefined ? {} : { provider: wanted.provider }),
        },
      }
    : {}
}

export const makeProgress = (): Progress => {
  let current = "start"
  let changes: Readonly<Record<string, number>> = {}
  const resource = (state: "started" | "done" | "failed", metadata: StepEventMetadata) => {
    // A component (the stack is one) counts as done only when the program says so, and is never awaited.
    if ((metadata.new ?? metadata.old)?.custom === true) {
      emit({
        type: "resource",
        state,
        urn: metadata.urn,
        operation: metadata.op,
        ...(state === "failed" && metadata.op === "create" ? releaseOf(metadata) : {}),
      })
    } else emit({ type: "engine", event: "component" })
  }
  const onEvent = (event: EngineEvent) => {
    if (event.resourcePreEvent) resource("started", event.resourcePreEvent.metadata)
    else if (event.resOutputsEvent) resource("done", event.resOutputsEvent.metadata)
    else if (event.resOpFailedEvent) resource("failed", event.resOpFailedEvent.metadata)
    else if (event.diagnosticEvent) {
      const { severity, message, ephemeral } = event.diagnosticEvent
      if (ephemeral !== true && plain(message) !== "") {
        emit({
          type: "diagnostic",
          severity: severity === "info#err" ? "info" : severity,
          message: plain(message),
        })
      }
    } else if (event.summaryEvent) {
      changes = { ...event.summaryEvent.resourceChanges }
      emit({ type: "engine", event: "summary" })
    } else emit({ type: "engine", event: Object.keys(event).at(-1) ?? "event" })
  }
  return {
    begin: (step) => {
      current = step
      emit({ type: "step", step })
    },
    step: () => current,
    changes: () => changes,
    onEvent,
    onPreview: (event) => {
      if (event.diagnosticEvent || event.summaryEvent) onEvent(event)
      else emit({ type: "engine", event: "preview" })
    },
  }
}
