// service/vcluster owns all that its vCluster has synced to the host: an admission policy keeps everybody from deleting it,
// the administrator too, in whatever way.
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { LABEL_HOST_NAMESPACE } from "../../src/schema/Names.ts"
import {
  conditionOf,
  deleteInstance,
  findHostNamespace,
  getInstance,
  type Key,
  manifest,
} from "./support/Instance.ts"
import { apply, createNamespace, exists, getJson, kubectl, refusalOf, uidOf } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { until, untilTrue } from "./support/Until.ts"

holdOperator("shared")
leavesNothing("protection")

const key: Key = { namespace: "protection", name: "one" }
const policyName = "platform-operator-protect-vcluster-service"
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

  it("is protected by a policy without type errors, and the instance says so", async () => {
    const policy = await until("the policy's types are checked", async () => {
      const seen = await getJson(Policy, policyPath)
      return seen.status?.observedGeneration === seen.metadata.generation ? seen : undefined
    })
    assert.deepStrictEqual(policy.status?.typeChecking ?? {}, {})
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
