// `kubectl pi retry`: the next try at once, instead of after the pause.
import { Clock, DateTime, Effect } from "effect"
import { Command } from "effect/cli"
import { ANNOTATION_RECONCILE_REQUESTED } from "../schema/Names.ts"
import { APPROVAL, MAINTENANCE_WINDOW } from "./Documentation.ts"
import { dayTwoOf } from "./dayTwo.ts"
import { annotateInstance, getInstance } from "./Instance.ts"
import { WHETHER_ONE_LEADS } from "./logs.ts"
import { answer, instanceArgument, where } from "./root.ts"
import { waitingOf } from "./status.ts"

export const retry = Command.make(
  "retry",
  { name: instanceArgument },
  Effect.fnUntraced(function* ({ name }) {
    const found = yield* getInstance(yield* where, name)
    const about = `${found.instance.metadata.namespace}/${name}`
    const now = yield* Clock.currentTimeMillis
    const waiting = waitingOf(found.instance, now)
    if (waiting === undefined) {
      return yield* answer(
        { instance: about, requestedAt: null, waitingFor: null },
        () => `${about} is Ready: there is nothing to retry, and nothing was written`,
      )
    }
    const requestedAt = DateTime.formatIso(yield* DateTime.now)
    yield* annotateInstance(found.where, name, `${ANNOTATION_RECONCILE_REQUESTED}=${requestedAt}`)
    const { pausedSince, sleeps, windowOpens } = dayTwoOf(found.instance, now)
    const held: Readonly<Record<string, string>> = {
      [MAINTENANCE_WINDOW]: `when the window opens, ${windowOpens ?? "at its time"}`,
      [APPROVAL]: "once it is approved, and a plan that could not be made at once",
    }
    const inside = held[waiting.reason] ?? "at once"
    const awake = sleeps === undefined ? inside : "when it is woken"
    const when = pausedSince === undefined ? awake : "when the pause ends"
    const nobody = when === "at once" ? `; where nothing follows, ${WHETHER_ONE_LEADS}` : ""
    yield* answer(
      { instance: about, requestedAt, waitingFor: waiting },
      () => `${about}: asked for; what is due is tried ${when} (${waiting.reason})${nobody}`,
    )
  }),
).pipe(
  Command.withDescription(
    "Ends the pause after failures of target, install or cleanup: what is due is tried at once. Nothing is tried that is not due",
  ),
  Command.withExamples([{ command: "kubectl pi retry one -n team-a" }]),
)
