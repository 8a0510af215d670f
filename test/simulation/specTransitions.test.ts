// Every property of the spec through every kind of value, made with the instance, changed and taken away: what is asked for is
// reached, or refused by the API server, or an instance says what is wrong, by the property's name. Never silence.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { note } from "../support/figures.ts"
import type { Json } from "../twins/kubernetes/Json.ts"
import { refusal } from "../twins/kubernetes/refusal.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { paths } from "../twins/world/Image.ts"
import { key } from "../twins/world/World.ts"
import { assertHeld, type CheckedWorld, isWell, makeChecked, patience } from "./checked.ts"
import { full } from "./crashes.ts"
import {
  ABSENT,
  type Class,
  classes,
  formatPath,
  fullSpec,
  type Path,
  type Property,
  properties,
  valueFor,
  withValue,
} from "./specValues.ts"

const timeout = 24 * 3_600_000

/** The names in a path, nearest first: a message that speaks of the place has one of the two. */
const names = (path: Path) =>
  path
    .filter((part) => part !== 0)
    .reverse()
    .slice(0, 2)

const says = (message: string, { path }: Property, value: unknown): boolean =>
  names(path).some((name) => message.includes(String(name))) ||
  (typeof value === "string" && value.length > 0 && message.includes(value.slice(0, 40)))

/** Writes it, as a user does; the server's words when it is refused. */
const ask = (world: CheckedWorld, spec: Json): string | undefined => {
  const object = world.instance()
  const said = refusal(() =>
    object === undefined
      ? world.admin.create(Kinds.PlatformInstance, {
          apiVersion: "platform.di-framework.dev/v1alpha1",
          kind: "PlatformInstance",
          metadata: key,
          spec,
        })
      : world.admin.update(Kinds.PlatformInstance, { ...object, spec }),
  )
  return said === "" ? undefined : said
}

const settled = (world: CheckedWorld) => {
  const { generation } = world.instance()?.metadata ?? {}
  const { phase, observedGeneration } = world.status() ?? {}
  return observedGeneration === generation && (phase === "Ready" || phase === "Failed")
}

/** Passed on to the program, under a name of its own. */
const isPassedOn = ({ path, schema }: Property) =>
  path[0] === "platform" &&
  (schema.type === "string" || schema.type === "integer") &&
  !path.some((part) => part === "clientSecretRef" || part === "storageRoot")

const assertReached = (world: CheckedWorld, property: Property, value: unknown) => {
  assert.isTrue(isWell(world), "it is Ready, and it is not there")
  if (property.path[0] === "version") assert.strictEqual(world.status()?.installedVersion, String(value))
  // In the world without the operator's edge there is no such file.
  if (!full || value === ABSENT || value === "" || !isPassedOn(property)) return
  const config = world.files.readText(
    `${paths.state}/instances/${key.namespace}/${key.name}/project/Pulumi.instance.yaml`,
  )
  assert.include(config, String(value), "what the program is given")
}

/** Asks for it, and waits for what becomes of it. */
const move = Effect.fnUntraced(function* (
  world: CheckedWorld,
  property: Property,
  base: Json,
  value: unknown,
) {
  const refused = ask(world, withValue(base, property.path, value))
  if (refused !== undefined) {
    assert.isTrue(says(refused, property, value), `refused, and not by its name: ${refused.slice(0, 400)}`)
    return "refused"
  }
  yield* until(() => settled(world), patience, "something is told")
  if (world.status()?.phase === "Ready") {
    assertReached(world, property, value)
    return "reached"
  }
  const ready = world.status()?.conditions?.find(({ type }) => type === "Ready")
  assert.isTrue(says(ready?.message ?? "", property, value), `failed, and not by its name: ${ready?.message}`)
  return "told"
})

const makeWorld = Effect.gen(function* () {
  const world = yield* makeChecked({ direct: !full })
  for (const name of ["o", "o".repeat(253)])
    world.admin.create(Kinds.Secret, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace: key.namespace, name },
      stringData: { clientSecret: "planted", k: "planted", ["k".repeat(253)]: "planted" },
    })
  yield* world.operate()
  return world
})

/** Those that are let in cost an install each: without `FULL` one of them for each property, in turn. */
const turn = <A>(all: ReadonlyArray<A>, index: number): ReadonlyArray<A> =>
  full ? all : all.slice(index % all.length).slice(0, 1)

/** Whether the server takes it, with no operator there. */
const accepted = (property: Property): ReadonlyArray<Class> =>
  simulate(
    Effect.gen(function* () {
      const world = yield* makeChecked({ direct: true })
      return classes.filter((of) => {
        const value = valueFor(property, of)
        const refused = ask(world, withValue(fullSpec, property.path, value))
        if (refused !== undefined) {
          assert.isTrue(
            says(refused, property, value),
            `${of}: refused, and not by its name: ${refused.slice(0, 400)}`,
          )
          return false
        }
        world.remove()
        return true
      })
    }),
    { seed: 1, stacks: false },
  )

const rows = properties.map((property, index) => ({ name: formatPath(property.path), property, index }))

describe("a property of the spec", () => {
  it.each(rows)("$name: is reached, refused or told", { timeout }, ({ property, index }) => {
    const taken = accepted(property)
    const seen: Array<string> = []
    for (const of of turn(taken, index)) {
      const value = valueFor(property, of)
      note({ suite: "spec transitions", plans: 1 })
      simulate(
        Effect.gen(function* () {
          const world = yield* makeWorld
          seen.push(`made ${of}: ${yield* move(world, property, fullSpec, value)}`)
          seen.push(`taken away: ${yield* move(world, property, fullSpec, ABSENT)}`)
          for (const next of full ? classes : turn(taken, index + 1)) {
            seen.push(
              `changed to ${next}: ${yield* move(world, property, fullSpec, valueFor(property, next))}`,
            )
          }
          // From wherever that was, a good one is reached, unless it was made with what cannot be changed.
          const refused = ask(world, fullSpec)
          if (refused !== undefined) assert.include(refused, "storageRoot is immutable")
          else {
            yield* until(() => isWell(world), patience, "a good spec is reached")
          }
          assertHeld(world)
        }),
        { seed: 1, stacks: false, maxSteps: 20_000_000 },
      )
    }
    // A property that nothing is ever said of is none.
    assert.isNotEmpty(seen)
  })
})
