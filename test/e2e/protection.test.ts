// What the admission policies keep. service/vcluster owns all that its vCluster has synced to the host: nobody deletes it,
// the administrator neither, in whatever way. Pods made inside an instance do not reach for the node. An instance that is
// annotated so is not deleted, nor the definition of all.
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { LABEL_HOST_NAMESPACE } from "../../src/schema/Names.ts"
import { type Asked, escapes, harmless, podSpec } from "../support/escapes.ts"
import { storageRootBase } from "./support/Cluster.ts"
import { inside } from "./support/Inside.ts"
import {
  conditionOf,
  deleteInstance,
  findHostNamespace,
  getInstance,
  type Key,
  manifest,
  untilReady,
} from "./support/Instance.ts"
import { apply, createNamespace, exists, getJson, kubectl, refusalOf, uidOf } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { inPod, synced, untilRunning } from "./support/PlainPod.ts"
import { until, untilTrue } from "./support/Until.ts"

holdOperator("shared")
leavesNothing("protection")

const key: Key = { namespace: "protection", name: "one" }
const policyName = "platform-operator-protect-vcluster-service"
const podPolicy = "platform-operator-restrict-instance-pods"
const instancePolicy = "platform-operator-protect-instances"
const servicePolicy = "platform-operator-restrict-instance-services"
const denial = new RegExp(`ValidatingAdmissionPolicy '${policyName}'`)

const Policy = Schema.Struct({
  metadata: Schema.Struct({ generation: Schema.Finite }),
  spec: Schema.Unknown,
  status: Schema.optionalKey(
    Schema.Struct({
      observedGeneration: Schema.optionalKey(Schema.Finite),
      typeChecking: Schema.optionalKey(Schema.Unknown),
    }),
  ),
})
const policyPath = ["validatingadmissionpolicy", policyName]
const bindingPath = ["validatingadmissionpolicybinding", policyName]
const specOf = async (path: ReadonlyArray<string>): Promise<unknown> => (await getJson(Policy, path)).spec

const plainService = (namespace: string, name: string): Promise<string> =>
  apply({ apiVersion: "v1", kind: "Service", metadata: { namespace, name }, spec: { ports: [{ port: 80 }] } })

/** A policy takes effect some moments after it was written. */
const untilDenied = (namespace: string): Promise<void> =>
  untilTrue("the deletion of service/vcluster is denied", async () =>
    denial.test(
      await refusalOf("delete", "service", "vcluster", "--namespace", namespace, "--dry-run=server"),
    ),
  )

describe("service/vcluster", () => {
  let host = ""
  let service = ""
  const inHost = (...args: ReadonlyArray<string>) => [...args, "--namespace", host]
  const isKept = async () => assert.strictEqual(await uidOf(...inHost("service", "vcluster")), service)

  beforeAll(async () => {
    await createNamespace(key.namespace)
    await apply(manifest(key))
    host = await until("the host namespace", () => findHostNamespace(key))
    await untilTrue("service/vcluster", () => exists(...inHost("service", "vcluster")))
    service = await uidOf(...inHost("service", "vcluster"))
    await untilDenied(host)
  })
  afterAll(() => deleteInstance(key))

  it.each([policyName, podPolicy, instancePolicy, servicePolicy])(
    "has the policy %s, without type errors",
    async (name) => {
      const policy = await until("the policy's types are checked", async () => {
        const seen = await getJson(Policy, ["validatingadmissionpolicy", name])
        return seen.status?.observedGeneration === seen.metadata.generation ? seen : undefined
      })
      assert.deepStrictEqual(policy.status?.typeChecking ?? {}, {})
    },
  )

  it("is protected, and the instance says so", async () => {
    await untilTrue("the condition", async () => {
      const condition = conditionOf(await getInstance(key), "OwnerServiceProtected")
      return condition?.status === "True" && condition.reason === "AdmissionPolicyInstalled"
    })
  })

  it("is not deleted by name, nor among all Services, which go", async () => {
    assert.match(await refusalOf("delete", ...inHost("service", "vcluster")), denial)
    await plainService(host, "aaa")
    await plainService(host, "zzz")
    assert.match(await refusalOf("delete", ...inHost("service", "--all")), denial)
    await isKept()
    assert.isFalse(await exists(...inHost("service", "aaa")))
    assert.isFalse(await exists(...inHost("service", "zzz")))
  })

  it("is not deleted with the collection, of which the server deletes what comes before it", async () => {
    await plainService(host, "aaa")
    const said = await refusalOf("delete", "--raw", `/api/v1/namespaces/${host}/services`)
    console.log(`a DELETE of the collection: ${said}`)
    assert.match(said, denial)
    await isKept()
    assert.isFalse(await exists(...inHost("service", "aaa")))
  })

  it("goes with its namespace", async () => {
    const namespace = "protection-going"
    await apply({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace, labels: { [LABEL_HOST_NAMESPACE]: "true" } },
    })
    await plainService(namespace, "vcluster")
    await untilDenied(namespace)
    await kubectl(["delete", "namespace", namespace, "--timeout=120s"])
    assert.isFalse(await exists("namespace", namespace))
  })

  const disturbances: ReadonlyArray<readonly [string, ReadonlyArray<string>, ReadonlyArray<string>]> = [
    [
      "the policy, when edited",
      policyPath,
      [
        "patch",
        ...policyPath,
        "--type=json",
        "--patch",
        '[{"op":"replace","path":"/spec/validations/0/expression","value":"true"}]',
      ],
    ],
    [
      "the policy, when narrowed",
      policyPath,
      [
        "patch",
        ...policyPath,
        "--type=json",
        "--patch",
        '[{"op":"add","path":"/spec/matchConditions","value":[{"name":"never","expression":"false"}]}]',
      ],
    ],
    ["the policy, when deleted", policyPath, ["delete", ...policyPath]],
    [
      "the binding, when edited",
      bindingPath,
      ["patch", ...bindingPath, "--type=merge", "--patch", '{"spec":{"validationActions":["Audit"]}}'],
    ],
    ["the binding, when deleted", bindingPath, ["delete", ...bindingPath]],
  ]
  it.each(disturbances)("has %s, back at once, and is protected again", async (_, path, disturb) => {
    const before = await specOf(path)
    await kubectl(disturb)
    await untilTrue("it is as it was", async () => {
      if (!(await exists(...path))) return false
      return JSON.stringify(await specOf(path)) === JSON.stringify(before)
    })
    await untilDenied(host)
    await isKept()
  })
})

const Warnings = Schema.Struct({
  items: Schema.Array(Schema.Struct({ reason: Schema.String, message: Schema.String })),
})

const decodeToken = Schema.decodeSync(
  Schema.fromJsonString(Schema.Struct({ "kubernetes.io": Schema.Struct({ namespace: Schema.String }) })),
)
const Priority = Schema.Struct({ spec: Schema.Struct({ priority: Schema.optionalKey(Schema.Finite) }) })

describe("pods that an instance's administrator makes", () => {
  const root = `${storageRootBase}/${key.namespace}/${key.name}`
  const inEscape = ["--namespace", "escape"]
  const made = ({ name, ...asked }: Asked) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "escape", name },
    spec: podSpec({ name, ...asked }),
  })
  beforeAll(async () => {
    await apply(manifest(key))
    await untilReady(key)
    await inside(key, (context) => kubectl([...context, "create", "namespace", "escape"]))
  })
  afterAll(() => deleteInstance(key))

  it("do not reach for the node, and say why to whoever looks inside", async () => {
    const host = (await findHostNamespace(key)) ?? ""
    await inside(key, async (context) => {
      for (const asked of escapes(root))
        await kubectl([...context, "apply", "-f", "-"], { input: JSON.stringify(made(asked)) })
      for (const { name, says } of escapes(root)) {
        const which = `--field-selector=involvedObject.name=${name}`
        const said = await until(`the refusal of ${name}`, async () => {
          const { items } = await getJson(Warnings, [...context, "events", ...inEscape, which])
          return items.find(({ reason }) => reason === "SyncError")?.message
        })
        console.log(`${name}: ${said}`)
        assert.match(said, says)
        assert.isFalse(await exists("pod", synced(host, "escape", name).name, "--namespace", host))
      }
      await kubectl([...context, "delete", "pods", "--all", ...inEscape, "--force", "--grace-period=0"])
    })
  })

  // vCluster 0.36.1 makes a Service on the host before it makes it inside.
  it("take no address of the cluster's network by a Service, and are told why", async () => {
    const service = {
      apiVersion: "v1",
      kind: "Service",
      metadata: { namespace: "escape", name: "thief" },
      spec: { ports: [{ port: 4873 }], externalIPs: ["10.240.0.1"] },
    }
    await inside(key, async (context) => {
      const said = await kubectl([...context, "apply", "-f", "-"], { input: JSON.stringify(service) }).then(
        () => "it was not refused",
        (error: unknown) => String(error),
      )
      console.log(said)
      assert.match(said, new RegExp(`'${servicePolicy}'.*externalIPs`))
    })
  })

  it("are scheduled before nobody, whatever class they ask for", async () => {
    const host = (await findHostNamespace(key)) ?? ""
    await inside(key, async (context) => {
      const asked = { name: "important", spec: { priorityClassName: "system-node-critical" } }
      await kubectl([...context, "apply", "-f", "-"], { input: JSON.stringify(made(asked)) })
      const place = synced(host, "escape", "important")
      await untilTrue("it is on the host", () => exists("pod", place.name, "--namespace", host))
      const { spec } = await getJson(Priority, ["pod", place.name, "--namespace", host])
      assert.strictEqual(spec.priority, 0)
      await kubectl([...context, "delete", "pod", "important", ...inEscape])
    })
  })

  it("have a token of their own API server, and none of the host's", async () => {
    const host = (await findHostNamespace(key)) ?? ""
    await inside(key, async (context) => {
      const asked = { name: "token", spec: { automountServiceAccountToken: true } }
      await kubectl([...context, "apply", "-f", "-"], { input: JSON.stringify(made(asked)) })
      const place = synced(host, "escape", "token")
      await untilTrue("it is on the host", () => exists("pod", place.name, "--namespace", host))
      await untilRunning(place)
      const token = await inPod(place, "cat", "/var/run/secrets/kubernetes.io/serviceaccount/token")
      const { "kubernetes.io": subject } = decodeToken(
        Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"),
      )
      assert.strictEqual(subject.namespace, "escape")
      await kubectl([...context, "delete", "pod", "token", ...inEscape])
    })
  })

  it("run where they keep to the instance's storage, and take no debug container that does not", async () => {
    const host = (await findHostNamespace(key)) ?? ""
    await inside(key, async (context) => {
      for (const asked of harmless(root)) {
        await kubectl([...context, "apply", "-f", "-"], { input: JSON.stringify(made(asked)) })
        await untilTrue(`${asked.name} is on the host`, () =>
          exists("pod", synced(host, "escape", asked.name).name, "--namespace", host),
        )
        await untilRunning(synced(host, "escape", asked.name))
      }
      await kubectl([
        ...[...context, "debug", "plain", ...inEscape, "--profile=sysadmin", "--container=debug"],
        ...["--image=docker.io/library/busybox:1.36", "--", "sleep", "60"],
      ])
      // vCluster 0.36.1 tells nobody inside of an update that was refused.
      await untilTrue("the refusal of the debug container", async () =>
        /update ephemeral containers: .*securityContext\.privileged/.test(
          await kubectl(["logs", "vcluster-0", "--namespace", host, "--tail=-1"]),
        ),
      )
      await kubectl([...context, "delete", "namespace", "escape", "--timeout=120s"])
    })
  })
})

describe("what holds instances", () => {
  const guarded: Key = { namespace: "protection-guarded", name: "one" }
  const definition = ["crd", "platforminstances.platform.di-framework.dev"]
  const annotate = (value: string) =>
    kubectl([
      ...["annotate", "pi", guarded.name, "--namespace", guarded.namespace, "--overwrite"],
      `platform.di-framework.dev/protect${value}`,
    ])
  beforeAll(async () => {
    await createNamespace(guarded.namespace)
    await apply(manifest(guarded))
    await annotate("=true")
    await until("its host namespace", () => findHostNamespace(guarded))
  })

  it("is kept: the definition, and an instance that is annotated so, with the way out in the refusal", async () => {
    const remove = ["delete", "pi", guarded.name, "--namespace", guarded.namespace]
    await untilTrue("the instance is kept", async () =>
      new RegExp(`'${instancePolicy}'.*kubectl annotate pi one --namespace protection-guarded`).test(
        await refusalOf(...remove, "--dry-run=server"),
      ),
    )
    assert.match(await refusalOf(...remove, "--wait=false"), /kubectl annotate pi one/)
    assert.match(
      await refusalOf("delete", "pi", "--all", "--namespace", guarded.namespace, "--wait=false"),
      /kubectl annotate pi one/,
    )
    assert.match(
      await refusalOf("delete", ...definition, "--dry-run=server"),
      new RegExp(`kubectl delete validatingadmissionpolicybinding ${instancePolicy}`),
    )
  })

  it("outlives the deletion of its namespace, which takes it along once the annotation is gone", async () => {
    await kubectl(["delete", "namespace", guarded.namespace, "--wait=false"])
    const Conditions = Schema.Struct({
      status: Schema.Struct({
        conditions: Schema.optionalKey(Schema.Array(Schema.Struct({ message: Schema.String }))),
      }),
    })
    await untilTrue("the namespace says what holds it", async () =>
      ((await getJson(Conditions, ["namespace", guarded.namespace])).status.conditions ?? []).some(
        ({ message }) => message.includes(instancePolicy),
      ),
    )
    assert.isUndefined((await getInstance(guarded)).metadata.deletionTimestamp)
    await annotate("-")
    await untilTrue("the namespace is gone", async () => !(await exists("namespace", guarded.namespace)))
  })
})
