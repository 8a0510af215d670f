// An instance's storage root in its backup. Files that somebody writes cannot be copied as of one moment: so the instance is put to sleep for
// as long as it is read, and what was read counts only if nothing of the instance has run meanwhile.
import { once } from "node:events"
import { createGunzip } from "node:zlib"
import { Effect, Schema, Stream } from "effect"
import { formatKey } from "../schema/InstanceKey.ts"
import { ANNOTATION_PAUSED, ANNOTATION_SLEEP } from "../schema/Names.ts"
import { CONTROL_PLANE, placesOf, type WholeInstance } from "./BackupObjects.ts"
import { dayTwoOf } from "./dayTwo.ts"
import { annotateInstance, getInstance } from "./Instance.ts"
import { cannot, getJson, Kubectl, PiError } from "./Kubectl.ts"
import type { Place } from "./Operator.ts"
import { step } from "./root.ts"
import { readCommand } from "./StorageObjects.ts"
import { markedRoot, requireAdmitted, requireOneNode, withStorage } from "./storageRoot.ts"
import { isAsleep, untilIs } from "./untilIs.ts"

/** Where it is, before anything is changed. */
export const findStorage = Effect.fnUntraced(function* (
  { call, inHost }: Place,
  { metadata, spec }: WholeInstance,
) {
  if (metadata.annotations?.[ANNOTATION_PAUSED] === "true") {
    return yield* cannot(
      `${formatKey(call.key)} is paused, and is not put to sleep, as --storage needs it: take annotation ${ANNOTATION_PAUSED} away first`,
    )
  }
  yield* requireOneNode(call)
  const root = yield* markedRoot(inHost)
  yield* requireAdmitted({ call, root, readOnly: true })
  return { root, isCustom: placesOf(spec).root !== undefined }
})

const ControlPlane = Schema.Struct({
  metadata: Schema.Struct({ uid: Schema.String, generation: Schema.optionalKey(Schema.Finite) }),
})
const Pods = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({
      metadata: Schema.Struct({ name: Schema.String }),
      status: Schema.optionalKey(Schema.Struct({ phase: Schema.optionalKey(Schema.String) })),
    }),
  ),
})

/** Changes wherever anything of the instance may have run; nothing while something does. */
const sleepOf = Effect.fnUntraced(function* ({ own, inHost, call }: Place) {
  const { instance } = yield* getInstance(own, call.key.name)
  const since = dayTwoOf(instance, Date.now()).asleepSince
  const { items } = yield* getJson(Pods, inHost, ["pods"])
  const runs = items.some(
    ({ metadata, status }) =>
      metadata.name === `${CONTROL_PLANE}-0` || status?.phase === "Running" || status?.phase === "Pending",
  )
  if (since === undefined || runs || instance.metadata.annotations?.[ANNOTATION_SLEEP] !== "true")
    return undefined
  // Whoever scales it by hand leaves no other trace.
  const { metadata } = yield* getJson(ControlPlane, inHost, ["statefulset", CONTROL_PLANE])
  return JSON.stringify([instance.metadata.uid, since, metadata.uid, metadata.generation])
})

/** `use` gets what fails if it was not asleep all the time. It is woken whatever comes of it. */
const whileAsleep = <A, E, R>(
  place: Place,
  use: (stillAsleep: Effect.Effect<void, PiError, Kubectl>) => Effect.Effect<A, E, R>,
): Effect.Effect<A, E | PiError, R | Kubectl> => {
  const { key } = place.call
  const about = formatKey(key)
  const wake = annotateInstance(place.own, key.name, `${ANNOTATION_SLEEP}-`).pipe(
    Effect.andThen(step(`${about} is being woken`)),
    Effect.catch(({ message }) =>
      step(`${about} is still asleep (${message}): take annotation ${ANNOTATION_SLEEP} away`),
    ),
  )
  const woken = cannot(
    `${about} was woken while its storage root was read, by somebody else: there is no backup; give the command again`,
  )
  return Effect.acquireUseRelease(
    annotateInstance(place.own, key.name, `${ANNOTATION_SLEEP}=true`),
    () =>
      Effect.gen(function* () {
        yield* step(`${about} is put to sleep, for as long as its storage root is read`)
        yield* untilIs({ own: place.own, key }, "asleep", isAsleep)
        const before = yield* sleepOf(place)
        if (before === undefined) return yield* woken
        return yield* use(
          Effect.flatMap(sleepOf(place), (after) => (after === before ? Effect.void : Effect.fail(woken))),
        )
      }),
    () => wake,
  )
}

/** As it comes; fails at its end where it did not come whole. */
const requireWhole = async function* (content: AsyncIterable<Uint8Array>) {
  const gunzip = createGunzip()
  let isBroken = false
  gunzip.on("error", () => {
    isBroken = true
  })
  const ended = new Promise((resolve) => {
    gunzip.once("close", resolve)
  })
  gunzip.resume()
  for await (const chunk of content) {
    if (!isBroken && !gunzip.write(chunk)) await Promise.race([once(gunzip, "drain"), ended])
    yield chunk
  }
  if (!isBroken) gunzip.end()
  await ended
  if (isBroken) throw cannot("what came of the storage root is cut off: give the command again")
}

/** `use` gets all that lies there, as it is read: it fails at its end where it was not of one moment. */
export const withStorageRoot = <A, E, R>(
  place: Place,
  { root, isCustom }: { readonly root: string; readonly isCustom: boolean },
  use: (content: Stream.Stream<Uint8Array, PiError>) => Effect.Effect<A, E, R>,
): Effect.Effect<A, E | PiError, R | Kubectl> =>
  whileAsleep(place, (stillAsleep) =>
    withStorage({ call: place.call, root, readOnly: true }, (where, pod) =>
      Effect.gen(function* () {
        const kubectl = yield* Kubectl
        const read = kubectl.stream(where, readCommand(pod, isCustom), Stream.empty)
        const whole = Stream.suspend(() =>
          Stream.fromAsyncIterable(requireWhole(Stream.toAsyncIterable(read)), (cause) =>
            cause instanceof PiError ? cause : cannot(String(cause)),
          ),
        )
        const end = Stream.fromEffect(Effect.provideService(stillAsleep, Kubectl, kubectl))
        return yield* use(Stream.concat(whole, Stream.drain(end)))
      }),
    ),
  )
