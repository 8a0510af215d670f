// A Lease (coordination.k8s.io/v1) as this operator reads and judges it. Pure. Nobody's clock is believed: whether a
// holder lives is judged by how long its lease has stood still before our own eyes, on a clock that only runs forward.
import { type DateTime, Duration, Option, Schema } from "effect"
import type { KubeObject } from "../Kubernetes/Kubernetes.ts"

const LeaseSpec = Schema.Struct({
  holderIdentity: Schema.optionalKey(Schema.NullOr(Schema.String)),
  leaseDurationSeconds: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
  acquireTime: Schema.optionalKey(Schema.NullOr(Schema.String)),
  renewTime: Schema.optionalKey(Schema.NullOr(Schema.String)),
  leaseTransitions: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
})
const decodeSpec = Schema.decodeUnknownOption(Schema.Struct({ spec: Schema.optionalKey(LeaseSpec) }))

/** What a Lease says. */
export interface LeaseState {
  /** Empty when nobody holds it. */
  readonly holder: string
  readonly duration: Duration.Duration
  readonly acquireTime: string | undefined
  readonly renewTime: string | undefined
  readonly transitions: number
}

/** A Lease without a usable spec is one that nobody holds. */
export const leaseState = (object: KubeObject): LeaseState => {
  const spec = Option.getOrUndefined(decodeSpec(object))?.spec
  return {
    holder: spec?.holderIdentity ?? "",
    duration: Duration.seconds(spec?.leaseDurationSeconds ?? 0),
    acquireTime: spec?.acquireTime ?? undefined,
    renewTime: spec?.renewTime ?? undefined,
    transitions: spec?.leaseTransitions ?? 0,
  }
}

/** A lease as it was seen, and since when it has not changed: nanoseconds of the monotonic clock. */
export interface Sighting {
  readonly holder: string
  readonly renewTime: string | undefined
  readonly since: bigint
}

/** One more look: the time of the first one stands for as long as nothing moves. */
export const look = (before: Sighting | undefined, seen: LeaseState, now: bigint): Sighting =>
  before !== undefined && before.holder === seen.holder && before.renewTime === seen.renewTime
    ? before
    : { holder: seen.holder, renewTime: seen.renewTime, since: now }

/** Free to take: nobody's, our own (an attempt whose answer was lost), or stood still for its whole duration. */
export const isFree = (seen: LeaseState, sighting: Sighting, identity: string, now: bigint): boolean =>
  seen.holder === "" ||
  seen.holder === identity ||
  now - sighting.since >= Duration.toNanosUnsafe(seen.duration)

/** MicroTime of the Kubernetes API: RFC 3339 with six digits. */
export const microTime = (time: DateTime.Utc): string =>
  new Date(time.epochMilliseconds).toISOString().replace(/Z$/, "000Z")

/** The spec of a lease that `identity` holds from now on. */
export const heldSpec = (
  before: LeaseState | undefined,
  identity: string,
  duration: Duration.Duration,
  now: string,
) => {
  const kept = before?.holder === identity
  return {
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(Duration.toSeconds(duration)),
    acquireTime: (kept ? before.acquireTime : undefined) ?? now,
    renewTime: now,
    leaseTransitions: before === undefined ? 0 : before.transitions + (kept ? 0 : 1),
  }
}
