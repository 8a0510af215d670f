// The Helm releases that the program has made inside the target, after an operation that was cut off. A record
// left pending by its dead writer blocks every later `up` for good ("cannot re-use a name", "another operation
// is in progress": contracts, seen), and the engine does not look at records. The only writer is known to be
// dead when this runs.
import { Data, Effect, Option, Schema } from "effect"
import { runChild } from "../Process/Child.ts"
import { baseEnvironment } from "./Environment.ts"
import { tail } from "./Messages.ts"
import type { PulumiOptions } from "./Options.ts"
import type { InnerRelease } from "./StateFile.ts"
import type { Workspace } from "./Workspace.ts"

export class InnerReleaseError extends Data.TaggedError("InnerReleaseError")<{ readonly message: string }> {}

/** One line of `helm history -o json` (helm 4.3.1). */
const History = Schema.Array(Schema.Struct({ revision: Schema.Finite, status: Schema.String }))
export type History = typeof History.Type
const decodeHistory = Schema.decodeUnknownEffect(Schema.fromJsonString(History))

export type Repair =
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "Uninstall" }
  | { readonly _tag: "Rollback"; readonly revision: number }

/** What is to be done about a release by its records: the newest revision decides, whatever the others say. */
export const repairOf = (history: History, recorded: boolean): Repair => {
  const newest = [...history].sort((a, b) => b.revision - a.revision)[0]
  const deployed = history.filter(({ status }) => status === "deployed" || status === "superseded")
  const last = Math.max(...deployed.map(({ revision }) => revision))
  switch (newest?.status) {
    case "pending-install":
    case "pending-upgrade":
    case "pending-rollback":
      return deployed.length > 0 ? { _tag: "Rollback", revision: last } : { _tag: "Uninstall" }
    case "uninstalling":
      return { _tag: "Uninstall" }
    case "failed":
      // The engine upgrades a failed release that it knows; one it does not know has only its name in the way.
      if (deployed.length > 0) return { _tag: "Rollback", revision: last }
      return recorded ? { _tag: "Nothing" } : { _tag: "Uninstall" }
    default:
      return { _tag: "Nothing" }
  }
}

/** Sets each of these releases right; gives a sentence for each that needed it. */
export const repairReleases = Effect.fn("InnerReleases.repair")(function* (
  releases: ReadonlyArray<InnerRelease>,
  workspace: Workspace,
  options: PulumiOptions,
) {
  const helm = Effect.fnUntraced(function* (release: InnerRelease, args: ReadonlyArray<string>) {
    return yield* runChild({
      command: options.helmPath,
      args: [...args, "--namespace", release.namespace, "--kubeconfig", workspace.kubeconfig],
      env: { ...baseEnvironment(process.env, workspace.home), HELM_DRIVER: "secret" },
      grace: "8 seconds",
    }).pipe(Effect.mapError((error) => new InnerReleaseError({ message: error.message })))
  })
  const done: Array<string> = []
  for (const release of releases) {
    const shown = yield* helm(release, ["history", release.name, "--output", "json"])
    if (!Option.contains(shown.exitCode, 0)) {
      if (/release: not found/.test(shown.stderr)) continue
      return yield* new InnerReleaseError({ message: tail(shown.stderr) })
    }
    const history = yield* decodeHistory(shown.stdout).pipe(
      Effect.mapError((error) => new InnerReleaseError({ message: `helm history: ${error.message}` })),
    )
    const repair = repairOf(history, release.recorded)
    if (repair._tag === "Nothing") continue
    const args =
      repair._tag === "Uninstall"
        ? ["uninstall", release.name, "--ignore-not-found", "--wait"]
        : ["rollback", release.name, String(repair.revision)]
    const result = yield* helm(release, args)
    if (!Option.contains(result.exitCode, 0)) {
      return yield* new InnerReleaseError({ message: tail(result.stderr) })
    }
    const what = repair._tag === "Uninstall" ? "uninstalled" : `rolled back to revision ${repair.revision}`
    done.push(`Helm release ${release.name} inside the instance was left half-way and has been ${what}.`)
  }
  return done
})
