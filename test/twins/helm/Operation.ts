// What install, upgrade and rollback have in common (contracts/vcluster-and-helm.md 7.3, 7.4). Other programs have Helm
// inside them and do the same: a session says which of Helm's majors it is.
import { Effect, Fiber, Random, Semaphore } from "effect"
import { Namespace } from "../../../src/services/Kubernetes/Kinds.ts"
import type { Json } from "../kubernetes/Json.ts"
import type { Chart } from "./Chart.ts"
import { owned, type Resource, resources, waitForReady } from "./Objects.ts"
import type { Release } from "./Release.ts"
import { compute, type HelmError, request, type Session, wrap } from "./Session.ts"

export interface Options {
  /** Server-side apply or not; `auto`: as the release was applied before. Helm 3 knows the client alone. */
  readonly serverSide: boolean | "auto"
  readonly forceConflicts: boolean
  readonly wait: boolean
  readonly timeoutMillis: number
  /** Revisions kept; 0 keeps all. */
  readonly historyMax: number
  /** Undo a failed install or upgrade; implies `wait`. */
  readonly atomic: boolean
}

export interface Deployment {
  readonly name: string
  readonly chart: Chart
  readonly values: Json
}

/** A release that an operation is making. The process that writes it shares it with what a signal makes of it. */
export interface Work {
  release: Release
}

/** Reading a chart, rendering it and validating what came out, in milliseconds of one core. */
export const rendering = Effect.flatMap(Random.nextIntBetween(60, 160), (millis) => Effect.sleep(millis))

/** Whether the server answers: `GET /version`. */
export const isReachable = ({ api }: Session) =>
  request(() => api.get(Namespace, { name: "kube-system" })).pipe(
    Effect.catch((error) =>
      error.code === 0
        ? Effect.fail(wrap("kubernetes cluster unreachable")(error))
        : // Everybody may read the version.
          Effect.void,
    ),
  )

export const isServerSide = (
  session: Session,
  options: Options,
  before: Release["apply_method"],
): boolean => {
  if (session.major === 3) return false
  return options.serverSide === "auto" ? before === "ssa" : options.serverSide
}

export const methodOf = (session: Session, serverSide: boolean): Pick<Release, "apply_method"> =>
  session.major === 3 ? {} : { apply_method: serverSide ? "ssa" : "csa" }

export const build = (release: Release, prefix: string): Effect.Effect<ReadonlyArray<Resource>, HelmError> =>
  Effect.mapError(
    compute(() => resources(release.manifest, release.namespace)),
    wrap(prefix),
  )

export const ownedBy = (release: Release, objects: ReadonlyArray<Resource>) =>
  objects.map((object) => owned(object, release))

export const waited = (
  session: Session,
  objects: ReadonlyArray<Resource>,
  options: Options,
): Effect.Effect<void, HelmError> =>
  options.wait || options.atomic ? waitForReady(session, objects, options.timeoutMillis) : Effect.void

/**
 * A cancelled operation is not stopped: its requests go on beside what records the failure, until the process ends. When
 * it fails as well, that is recorded once more, after the first record is written (seen: the provider leaves a second
 * rollback pending).
 */
export const untilCancelled = <A>(
  work: Effect.Effect<A, HelmError>,
  cancelled: Effect.Effect<never, HelmError>,
  failed: (error: HelmError) => Effect.Effect<never, HelmError>,
) =>
  Effect.gen(function* () {
    const oneAtATime = (yield* Semaphore.make(1)).withPermits(1)
    const fail = (error: HelmError) => oneAtATime(failed(error))
    const running = yield* Effect.forkDetach(Effect.catch(work, fail))
    return yield* Effect.raceFirst(Fiber.join(running), Effect.catch(cancelled, fail))
  })
