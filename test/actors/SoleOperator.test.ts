import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Option, References } from "effect"
import { operatorOf, policyManifests } from "../../src/actors/instance/target/AdmissionPolicies.ts"
import { refuseBesideAnother, type SoleOperatorOptions } from "../../src/actors/SoleOperator.ts"
import { Lease, Namespace, ValidatingAdmissionPolicy } from "../../src/services/Kubernetes/Kinds.ts"
import { lead } from "../../src/services/LeaderElection/LeaderElection.ts"
import { httpOf } from "../twins/kubernetes/Http.ts"
import { kubernetesOver } from "../twins/kubernetes/KubernetesTwin.ts"
import { makeApiServer } from "../twins/kubernetes/Server.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"

const userIn = (namespace: string) => `system:serviceaccount:${namespace}:platform-operator`
const lease = "platform-operator"

/** A cluster that the operator of namespace `first` has served. */
const makeCluster = Effect.gen(function* () {
  const api = yield* makeApiServer({ name: "host", rbac: false })
  const admin = api.as("admin")
  for (const name of ["first", "second"])
    admin.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } })
  const serveAs = (user: string) => admin.create(ValidatingAdmissionPolicy, policyManifests(user)[0])
  const scope = yield* Effect.scope
  const as = (namespace: string) => kubernetesOver(httpOf(api, { user: userIn(namespace) }))
  /** The first operator, at work with its Lease. */
  const lives = Effect.gen(function* () {
    const services = yield* as("first")
    const fiber = yield* lead(
      {
        namespace: "first",
        name: lease,
        identity: "pod-a_uid-a_1",
        isDead: () => Effect.succeed(false),
        overdue: Effect.void,
      },
      Effect.never,
    ).pipe(
      Effect.provideContext(services),
      Effect.provideService(References.MinimumLogLevel, "None"),
      Effect.forkIn(scope),
    )
    yield* until(
      () => admin.get(Lease, { namespace: "first", name: lease }) !== undefined,
      "10 seconds",
      "it leads",
    )
    return fiber
  })
  /** What the check of the operator of a namespace comes to, and how long it took in virtual seconds. */
  const check = Effect.fnUntraced(function* (
    namespace: string,
    isDead: SoleOperatorOptions["isDead"] = () => Effect.succeed(false),
  ) {
    const began = yield* Clock.currentTimeMillis
    const exit = yield* refuseBesideAnother({ lease, isDead }).pipe(
      Effect.provideContext(yield* as(namespace)),
      Effect.provideService(References.MinimumLogLevel, "None"),
      Effect.flip,
      Effect.exit,
    )
    const seconds = ((yield* Clock.currentTimeMillis) - began) / 1000
    return { refusal: Exit.isSuccess(exit) ? exit.value.message : undefined, seconds }
  })
  return { api, admin, serveAs, lives, check }
})

describe("an operator that starts", () => {
  it("goes on where nobody has been, and where it has been itself", () => {
    simulate(
      Effect.gen(function* () {
        const { serveAs, lives, check } = yield* makeCluster
        assert.deepStrictEqual(yield* check("first"), { refusal: undefined, seconds: 0 })
        serveAs(userIn("first"))
        yield* lives
        assert.deepStrictEqual(yield* check("first"), { refusal: undefined, seconds: 0 })
      }),
      { seed: 1 },
    )
  })

  it("refuses beside another that lives, and names it", () => {
    simulate(
      Effect.gen(function* () {
        const { serveAs, lives, check } = yield* makeCluster
        serveAs(userIn("first"))
        yield* lives
        const { refusal, seconds } = yield* check("second")
        assert.include(refusal, userIn("first"))
        assert.include(refusal, "Lease first/platform-operator as pod-a_uid-a_1")
        assert.isAtMost(seconds, 10)
      }),
      { seed: 1 },
    )
  })

  it("waits out a lease that stands still, and then goes on", () => {
    simulate(
      Effect.gen(function* () {
        const { serveAs, admin, check } = yield* makeCluster
        serveAs(userIn("first"))
        // Renewed by a clock that is an hour ahead: nobody's clock is believed.
        admin.create(Lease, {
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata: { namespace: "first", name: lease },
          spec: {
            holderIdentity: "pod-a_uid-a_1",
            leaseDurationSeconds: 120,
            renewTime: "2099-01-01T00:00:00.000000Z",
          },
        })
        const { refusal, seconds } = yield* check("second")
        assert.isUndefined(refusal)
        assert.isAtLeast(seconds, 120)
        assert.isAtMost(seconds, 125)
        assert.deepStrictEqual(yield* check("second", () => Effect.succeed(true)), {
          refusal: undefined,
          seconds: 0,
        })
      }),
      { seed: 1 },
    )
  })

  it("goes on at once when that lease was given back, or is not there", () => {
    simulate(
      Effect.gen(function* () {
        const { serveAs, admin, check } = yield* makeCluster
        serveAs(userIn("first"))
        assert.deepStrictEqual(yield* check("second"), { refusal: undefined, seconds: 0 })
        admin.create(Lease, {
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata: { namespace: "first", name: lease },
          spec: { holderIdentity: "", leaseDurationSeconds: 1 },
        })
        assert.deepStrictEqual(yield* check("second"), { refusal: undefined, seconds: 0 })
      }),
      { seed: 1 },
    )
  })

  it("goes on where it may not look", () => {
    simulate(
      Effect.gen(function* () {
        const { api, serveAs, lives, check } = yield* makeCluster
        serveAs(userIn("first"))
        yield* lives
        api.faults.answer(403, { kind: Lease, user: userIn("second"), times: 9 })
        assert.isUndefined((yield* check("second")).refusal)
      }),
      { seed: 1 },
    )
  })

  it("waits for an API that does not answer", () => {
    simulate(
      Effect.gen(function* () {
        const { api, serveAs, lives, check } = yield* makeCluster
        serveAs(userIn("first"))
        yield* lives
        api.faults.down()
        yield* Effect.forkChild(Effect.andThen(Effect.sleep("20 seconds"), Effect.sync(api.faults.up)))
        const { refusal, seconds } = yield* check("second")
        assert.include(refusal, userIn("first"))
        assert.isAtLeast(seconds, 20)
      }),
      { seed: 1 },
    )
  })
})

describe("the policy", () => {
  it("tells whose it is, whatever characters the name has", () => {
    for (const user of ["admin", userIn("first"), "it's", "back\\slash'"])
      assert.deepStrictEqual(operatorOf(policyManifests(user)[0]), Option.some(user))
    assert.deepStrictEqual(operatorOf({ spec: {} }), Option.none())
  })
})
