import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  instancePolicyManifests,
  type PolicyManifests,
  podPolicyManifests,
  policyManifests,
  servicePolicyManifests,
} from "../../../../src/actors/instance/target/AdmissionPolicies.ts"
import {
  PRIORITY,
  priorityClassManifest,
} from "../../../../src/actors/instance/target/controlPlanePriority.ts"
import { hostNamespaceManifest } from "../../../../src/actors/instance/target/HostNamespace.ts"
import {
  CRD_NAME,
  hostNamespace,
  INSTANCE_POLICY_NAME,
  POD_POLICY_NAME,
  SERVICE_POLICY_NAME,
  VCLUSTER_POLICY_NAME,
} from "../../../../src/schema/Names.ts"
import * as Kinds from "../../../../src/services/Kubernetes/Kinds.ts"
import { type Asked, escapes, harmless, podSpec } from "../../../support/escapes.ts"
import { refusal } from "../../../twins/kubernetes/refusal.ts"
import { makeApiServer } from "../../../twins/kubernetes/Server.ts"
import { crd } from "../../../twins/world/Installation.ts"

const Policy = Schema.Struct({
  spec: Schema.Struct({
    failurePolicy: Schema.String,
    matchConstraints: Schema.Struct({
      namespaceSelector: Schema.Unknown,
      resourceRules: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)),
    }),
    validations: Schema.Array(Schema.Struct({ expression: Schema.String, message: Schema.String })),
  }),
})
const decode = Schema.decodeUnknownEffect(Policy)

/** The string that the expression compares the user's name with, read as CEL reads a single-quoted literal. */
const userIn = (expression: string): string => {
  const [, literal = ""] = /request\.userInfo\.username == '((?:[^'\\]|\\.)*)' \|\|/.exec(expression) ?? []
  return literal.replaceAll(/\\(.)/g, "$1")
}

describe("the admission policy", () => {
  it.effect("denies every deletion of service/vcluster in a host namespace, by name in CEL", () =>
    Effect.gen(function* () {
      const [policy, binding] = policyManifests("operator")
      const { spec } = yield* decode(policy)
      assert.strictEqual(spec.failurePolicy, "Fail")
      assert.deepStrictEqual(spec.matchConstraints.namespaceSelector, {
        matchLabels: { "platform.di-framework.dev/host-namespace": "true" },
      })
      // A resourceName would let a DELETE of the collection pass.
      for (const rule of spec.matchConstraints.resourceRules) assert.notProperty(rule, "resourceNames")
      assert.match(spec.validations[0]?.expression ?? "", /^oldObject\.metadata\.name != 'vcluster' \|\| /)
      assert.match(spec.validations[0]?.expression ?? "", /namespaceObject\.status\.phase == 'Terminating'/)
      assert.deepInclude(binding.spec, { policyName: VCLUSTER_POLICY_NAME, validationActions: ["Deny"] })
      assert.strictEqual(policy.metadata.name, binding.metadata.name)
    }),
  )

  for (const user of [
    "system:serviceaccount:platform-operator:platform-operator",
    "o'brien",
    "domain\\operator",
    "both\\'",
    "' || true || '",
    "\\",
  ]) {
    it.effect(`excepts the operator's own user and no other: ${user}`, () =>
      Effect.gen(function* () {
        const { spec } = yield* decode(policyManifests(user)[0])
        const expression = spec.validations[0]?.expression ?? ""
        assert.strictEqual(userIn(expression), user)
        // Outside of literals there are three alternatives and nothing that the name brought in.
        const outside = expression.replaceAll(/'(?:[^'\\]|\\.)*'/g, "''")
        assert.strictEqual(outside.split(" || ").length, 3)
      }),
    )
  }
})

const serverFor = Effect.fnUntraced(function* (policies: PolicyManifests) {
  const api = yield* makeApiServer({ name: "host" })
  const admin = api.as("admin")
  admin.create(Kinds.CustomResourceDefinition, crd)
  admin.create(Kinds.ValidatingAdmissionPolicy, policies[0])
  admin.create(Kinds.ValidatingAdmissionPolicyBinding, policies[1])
  return { admin, as: api.as }
})
const server = (policies: PolicyManifests) => Effect.map(serverFor(policies), ({ admin }) => admin)

const key = { namespace: "team-a", name: "one" }
const host = hostNamespace(key)
const pod = (name: string, spec: object, namespace = host) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace },
  spec,
})

describe("the policy for pods of instances", () => {
  const places = [
    ["the default root", "/base/team-a/one"],
    ["a root of the instance's own", "/srv/one's"],
  ] as const
  describe.each(places)("under %s", (_, root) => {
    const made = Effect.gen(function* () {
      const admin = yield* server(podPolicyManifests())
      admin.create(Kinds.Namespace, hostNamespaceManifest(key, root))
      return admin
    })
    for (const asked of escapes(root)) {
      it.effect(`refuses a pod that is ${asked.name}, and says why`, () =>
        Effect.gen(function* () {
          const admin = yield* made
          const said = refusal(() => admin.create(Kinds.Pod, pod(asked.name, podSpec(asked))))
          assert.match(said, new RegExp(`ValidatingAdmissionPolicy '${POD_POLICY_NAME}'`))
          assert.match(said, asked.says)
          assert.include(said, "--allow-privileged-instances")
        }),
      )
    }
    for (const asked of harmless(root)) {
      it.effect(`lets a pod pass that is ${asked.name}`, () =>
        Effect.gen(function* () {
          const admin = yield* made
          assert.strictEqual(
            refusal(() => admin.create(Kinds.Pod, pod(asked.name, podSpec(asked)))),
            "",
          )
        }),
      )
    }
  })

  it.effect("says nothing of what is mounted where the operator has written no root, and all the rest", () =>
    Effect.gen(function* () {
      const admin = yield* server(podPolicyManifests())
      const { metadata, ...namespace } = hostNamespaceManifest(key, "")
      const annotations = { "platform.di-framework.dev/instance": "team-a/one" }
      admin.create(Kinds.Namespace, { ...namespace, metadata: { ...metadata, annotations } })
      const asks = (asked: Asked | undefined) =>
        refusal(() => admin.create(Kinds.Pod, pod("asks", podSpec(asked ?? assert.fail("no such pod")))))
      const [neighbour, privileged] = ["neighbour", "privileged"].map((name) =>
        escapes("/base/team-a/one").find((asked) => asked.name === name),
      )
      assert.strictEqual(asks(neighbour), "")
      assert.match(asks(privileged), /privileged/)
    }),
  )

  it.effect(
    "lets the control plane come back, whatever a webhook has added to its pod, and nobody else by its name",
    () =>
      Effect.gen(function* () {
        const { admin, as } = yield* serverFor(podPolicyManifests())
        admin.create(Kinds.Namespace, hostNamespaceManifest(key, "/base/team-a/one"))
        const asked =
          escapes("/base/team-a/one").find(({ name }) => name === "privileged") ?? assert.fail("no such pod")
        const says = (user: string, name: string) =>
          refusal(() => as(user).create(Kinds.Pod, pod(name, podSpec(asked))))
        const controller = "system:serviceaccount:kube-system:statefulset-controller"
        assert.strictEqual(says(controller, "vcluster-0"), "")
        assert.match(says(controller, "vcluster-1"), /privileged/)
        assert.match(says("admin", "vcluster-0"), /privileged/)
      }),
  )

  it.effect("lets nothing be scheduled before control planes, or as early, but for the control plane", () =>
    Effect.gen(function* () {
      const { admin, as } = yield* serverFor(podPolicyManifests())
      admin.create(Kinds.Namespace, hostNamespaceManifest(key, "/base/team-a/one"))
      const classes = { ours: PRIORITY, higher: PRIORITY + 1, lower: PRIORITY - 1 }
      for (const [name, value] of Object.entries(classes))
        admin.create(Kinds.PriorityClass, { ...priorityClassManifest, metadata: { name }, value })
      const says = (priorityClassName: string, name = "asks", client = admin) =>
        refusal(() => client.create(Kinds.Pod, pod(name, podSpec({ name, spec: { priorityClassName } }))))
      for (const name of ["ours", "higher", "system-node-critical"])
        assert.match(says(name), /before the control planes/)
      assert.strictEqual(says("lower"), "")
      const controller = as("system:serviceaccount:kube-system:statefulset-controller")
      assert.strictEqual(says("ours", "vcluster-0", controller), "")
      assert.match(says("ours", "vcluster-0"), /before the control planes/)
    }),
  )

  it.effect("is about host namespaces alone", () =>
    Effect.gen(function* () {
      const admin = yield* server(podPolicyManifests())
      for (const asked of escapes("/base/team-a/one"))
        admin.create(Kinds.Pod, pod(asked.name, podSpec(asked), "default"))
    }),
  )
})

describe("the policy for Services of instances", () => {
  const service = (name: string, externalIPs: ReadonlyArray<string>) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: host },
    spec: { ports: [{ port: 443 }], externalIPs },
  })
  const stealing = ["10.240.0.1"]

  it.effect("refuses an address that is the whole cluster's, also when it is added later", () =>
    Effect.gen(function* () {
      const admin = yield* server(servicePolicyManifests())
      admin.create(Kinds.Namespace, hostNamespaceManifest(key, "/base/team-a/one"))
      const said = refusal(() => admin.create(Kinds.Service, service("asks", stealing)))
      assert.match(said, new RegExp(`ValidatingAdmissionPolicy '${SERVICE_POLICY_NAME}'.*externalIPs`))
      admin.create(Kinds.Service, service("plain", []))
      const add = { type: "merge", patch: { spec: { externalIPs: stealing } } } as const
      assert.match(
        refusal(() => admin.patch(Kinds.Service, { namespace: host, name: "plain" }, add)),
        /externalIPs/,
      )
    }),
  )

  it.effect("lets one that has had it be changed otherwise", () =>
    Effect.gen(function* () {
      const admin = (yield* makeApiServer({ name: "host" })).as("admin")
      admin.create(Kinds.Namespace, hostNamespaceManifest(key, "/base/team-a/one"))
      admin.create(Kinds.Service, service("old", stealing))
      const [policy, binding] = servicePolicyManifests()
      admin.create(Kinds.ValidatingAdmissionPolicy, policy)
      admin.create(Kinds.ValidatingAdmissionPolicyBinding, binding)
      const change = { type: "merge", patch: { metadata: { labels: { a: "b" } } } } as const
      assert.strictEqual(
        refusal(() => admin.patch(Kinds.Service, { namespace: host, name: "old" }, change)),
        "",
      )
    }),
  )
})

describe("the policy for instances", () => {
  const instance = (annotations: Record<string, string>) => ({
    apiVersion: "platform.di-framework.dev/v1alpha1",
    kind: "PlatformInstance",
    metadata: { name: "one", namespace: "default", annotations },
    spec: { version: "6.0.22", target: { type: "vcluster" } },
  })
  const ref = { namespace: "default", name: "one" }
  const annotation = "platform.di-framework.dev/protect"

  it.effect("keeps one that is annotated so, by name and in a collection, until the annotation is gone", () =>
    Effect.gen(function* () {
      const admin = yield* server(instancePolicyManifests())
      admin.create(Kinds.PlatformInstance, instance({ [annotation]: "true" }))
      const remove = () => refusal(() => admin.delete(Kinds.PlatformInstance, ref))
      assert.match(remove(), new RegExp(`ValidatingAdmissionPolicy '${INSTANCE_POLICY_NAME}'`))
      assert.include(remove(), `kubectl annotate pi one --namespace default ${annotation}-`)
      const patch = { metadata: { annotations: { [annotation]: null } } }
      admin.patch(Kinds.PlatformInstance, ref, { type: "merge", patch })
      assert.strictEqual(remove(), "")
    }),
  )

  for (const annotations of [{}, { [annotation]: "false" }, { other: "true" }]) {
    it.effect(`lets one go that has ${JSON.stringify(annotations)}`, () =>
      Effect.gen(function* () {
        const admin = yield* server(instancePolicyManifests())
        admin.create(Kinds.PlatformInstance, instance(annotations))
        assert.strictEqual(
          refusal(() => admin.delete(Kinds.PlatformInstance, ref)),
          "",
        )
      }),
    )
  }

  it.effect("keeps the definition of instances, for as long as it is bound", () =>
    Effect.gen(function* () {
      const admin = yield* server(instancePolicyManifests())
      const remove = () => refusal(() => admin.delete(Kinds.CustomResourceDefinition, { name: CRD_NAME }))
      assert.include(remove(), `kubectl delete validatingadmissionpolicybinding ${INSTANCE_POLICY_NAME}`)
      admin.delete(Kinds.ValidatingAdmissionPolicyBinding, { name: INSTANCE_POLICY_NAME })
      assert.strictEqual(remove(), "")
    }),
  )
})
