// kubectl-pi: kubectl runs it as `kubectl pi`. Composition only.
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Cause, Console, Effect, Exit, Layer, Option, type Runtime } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import release from "../../release.json" with { type: "json" }
import { cannot, kubectlLayer, type PiError } from "./Kubectl.ts"
import { outputLayer } from "./Output.ts"
import { pi } from "./pi.ts"

/** 1: it could not be done; 2: it was asked for in a wrong way; 3: not Ready; 130: interrupted. */
const exitCode = (cause: Cause.Cause<unknown>): number => {
  if (Cause.hasInterruptsOnly(cause)) return 130
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (typeof error !== "object" || error === null) return 1
  if ("_tag" in error && error._tag === "PiError" && "exitCode" in error) return Number(error.exitCode)
  // The command line's own errors have been told by then.
  return 2
}

const teardown: Runtime.Teardown = (exit, onExit) => onExit(Exit.isFailure(exit) ? exitCode(exit.cause) : 0)

/**
 * Ends when nobody reads standard output any more, as after `| head`: that is no error. Fails when it cannot be written
 * for another reason.
 */
const outputEnds = Effect.callback<void, PiError>((resume) => {
  // Once told, errors of both streams are nobody's: Node would end the process with a stack.
  process.stderr.on("error", () => undefined)
  process.stdout.on("error", (error: NodeJS.ErrnoException) =>
    resume(
      error.code === "EPIPE"
        ? Effect.void
        : Effect.fail(cannot(`standard output cannot be written: ${error.code ?? error.message}`)),
    ),
  )
})

/** What was printed has been taken, or its error is known. */
const outputTaken = Effect.callback<void>((resume) => {
  process.stdout.write("", () => setImmediate(() => resume(Effect.void)))
})

Command.run(pi, { version: release.operatorVersion }).pipe(
  Effect.andThen(outputTaken),
  Effect.raceFirst(outputEnds),
  Effect.tapError((error) =>
    error._tag === "PiError" ? Console.error(`kubectl pi: ${error.message}`) : Effect.void,
  ),
  Effect.provide(
    Layer.mergeAll(kubectlLayer(), outputLayer, FetchHttpClient.layer).pipe(
      Layer.provideMerge(NodeServices.layer),
    ),
  ),
  NodeRuntime.runMain({ teardown, disableErrorReporting: true }),
)
