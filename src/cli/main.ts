// kubectl-pi: kubectl runs it as `kubectl pi`. Composition only.
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Cause, Console, Effect, Exit, Layer, Option, type Runtime } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import release from "../../release.json" with { type: "json" }
import { kubectlLayer } from "./Kubectl.ts"
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

Command.run(pi, { version: release.operatorVersion }).pipe(
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
