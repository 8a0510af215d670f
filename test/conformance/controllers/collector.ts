// The garbage collector: owners by UID, and the three ways to delete one.
import { Effect } from "effect"
import type { Scenario } from "../Scenario.ts"
import { get, ownersOf, type Rest, untilGone, untilSeen } from "./Rest.ts"

const space = "/api/v1/namespaces/default"
const maps = `${space}/configmaps`

interface Owner {
  readonly name: string
  readonly uid: string
  readonly blocks?: boolean
}

const make = (
  { request }: Rest,
  name: string,
  owners: ReadonlyArray<Owner> = [],
  finalizers: ReadonlyArray<string> = [],
) =>
  Effect.map(
    request("POST", maps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name,
        finalizers,
        ownerReferences: owners.map((owner) => ({
          apiVersion: "v1",
          kind: "ConfigMap",
          name: owner.name,
          uid: owner.uid,
          blockOwnerDeletion: owner.blocks === true,
        })),
      },
    }),
    ({ body }): Owner => ({ name, uid: String(Object(Object(body).metadata).uid) }),
  )

const remove = ({ request }: Rest, name: string, propagation?: string) =>
  request("DELETE", `${maps}/${name}${propagation === undefined ? "" : `?propagationPolicy=${propagation}`}`)

const isThere = (rest: Rest, name: string) =>
  Effect.map(get(rest, `${maps}/${name}`), (object) => (object === undefined ? "gone" : "there"))

export const collector: Scenario<Rest> = {
  name: "garbage collector",
  steps: [
    {
      name: "in the background the owner goes first, then what it owns and what that owns",
      run: (rest) =>
        Effect.gen(function* () {
          const owner = yield* make(rest, "owner")
          const child = yield* make(rest, "child", [owner])
          yield* make(rest, "grandchild", [child])
          yield* remove(rest, "owner", "Background")
          const first = yield* isThere(rest, "owner")
          return [
            first,
            yield* untilGone(rest, `${maps}/child`),
            yield* untilGone(rest, `${maps}/grandchild`),
          ]
        }),
    },
    {
      name: "a ConfigMap is deleted in the background when nobody says how",
      run: (rest) =>
        Effect.gen(function* () {
          const owner = yield* make(rest, "owner")
          yield* make(rest, "child", [owner])
          yield* remove(rest, "owner")
          return yield* untilGone(rest, `${maps}/child`)
        }),
    },
    {
      name: "in the foreground the owner waits for those that block it",
      run: (rest) =>
        Effect.gen(function* () {
          const owner = yield* make(rest, "owner")
          yield* make(rest, "blocks", [{ ...owner, blocks: true }], ["example.com/held"])
          yield* make(rest, "free", [owner], ["example.com/held"])
          yield* remove(rest, "owner", "Foreground")
          const child = yield* untilSeen(
            rest,
            `${maps}/blocks`,
            ({ metadata }) => metadata.deletionTimestamp !== undefined,
          )
          const waiting = yield* get(rest, `${maps}/owner`)
          return [waiting?.metadata.finalizers, child.metadata.finalizers, ownersOf(child)]
        }),
    },
    {
      name: "and goes when the last of them has gone; the others follow it",
      run: (rest) =>
        Effect.gen(function* () {
          yield* rest.request("PATCH", `${maps}/blocks`, { metadata: { finalizers: null } })
          yield* untilGone(rest, `${maps}/owner`)
          const free = yield* untilSeen(
            rest,
            `${maps}/free`,
            ({ metadata }) => metadata.deletionTimestamp !== undefined,
          )
          yield* rest.request("PATCH", `${maps}/free`, { metadata: { finalizers: null } })
          return [free.metadata.finalizers, yield* untilGone(rest, `${maps}/free`)]
        }),
    },
    {
      name: "an orphan keeps nothing of its owner",
      run: (rest) =>
        Effect.gen(function* () {
          const owner = yield* make(rest, "owner")
          yield* make(rest, "child", [owner])
          yield* remove(rest, "owner", "Orphan")
          yield* untilGone(rest, `${maps}/owner`)
          const child = yield* untilSeen(rest, `${maps}/child`)
          yield* remove(rest, "child")
          return [ownersOf(child), child.metadata.deletionTimestamp ?? "lives"]
        }),
    },
    {
      name: "an owner that never was takes the object along",
      run: (rest) =>
        Effect.gen(function* () {
          yield* make(rest, "child", [{ name: "nobody", uid: "00000000-0000-4000-8000-000000000000" }])
          return yield* untilGone(rest, `${maps}/child`)
        }),
    },
    {
      name: "an owner of that name with another UID is no owner",
      run: (rest) =>
        Effect.gen(function* () {
          const owner = yield* make(rest, "owner")
          yield* make(rest, "child", [{ name: "owner", uid: "00000000-0000-4000-8000-000000000001" }])
          yield* untilGone(rest, `${maps}/child`)
          const there = yield* isThere(rest, "owner")
          yield* remove(rest, owner.name)
          return there
        }),
    },
    {
      name: "one of two owners is enough; the other reference is removed",
      run: (rest) =>
        Effect.gen(function* () {
          const first = yield* make(rest, "first")
          const second = yield* make(rest, "second")
          yield* make(rest, "child", [first, second])
          yield* remove(rest, "first")
          const child = yield* untilSeen(rest, `${maps}/child`, (object) => ownersOf(object).length === 1)
          yield* remove(rest, "second")
          return [ownersOf(child), yield* untilGone(rest, `${maps}/child`)]
        }),
    },
    {
      name: "an owner of another namespace is none",
      run: (rest) =>
        Effect.gen(function* () {
          const elsewhere = yield* get(rest, "/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt")
          yield* make(rest, "child", [{ name: "elsewhere", uid: elsewhere?.metadata.uid ?? "" }])
          return yield* untilGone(rest, `${maps}/child`)
        }),
    },
    {
      name: "an owner that was made again does not save what the first one owned",
      run: (rest) =>
        Effect.gen(function* () {
          const owner = yield* make(rest, "owner")
          yield* make(rest, "child", [owner])
          yield* remove(rest, "owner")
          yield* make(rest, "owner")
          yield* untilGone(rest, `${maps}/child`)
          const again = yield* isThere(rest, "owner")
          yield* remove(rest, "owner")
          return again
        }),
    },
  ],
}
