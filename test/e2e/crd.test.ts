// The CRD on the real API server: every row of test/schema/crd-table must be judged as the table says, and with the
// reference's own words. Creates are dry runs against the real group. Updates need something to start from: they go to
// copies of the CRD in groups of their own, where no operator looks.
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { ApiException, CoreV1Api, CustomObjectsApi, KubeConfig } from "@kubernetes/client-node"
import { vi } from "vitest"
import { crd } from "../../src/schema/Crd.ts"
import {
  type JsonObject,
  manifestRows,
  statusRows,
  updateRows,
  type Verdict,
} from "../schema/crd-table/index.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { holdOperator } from "./support/OperatorLock.ts"

// Of the operator nothing is needed, but that nobody removes its definition meanwhile.
holdOperator("shared")
leavesNothing("crd-table-")

const kubeconfig = new KubeConfig()
kubeconfig.loadFromFile(process.env.KUBECONFIG ?? "")
const core = kubeconfig.makeApiClient(CoreV1Api)
const custom = kubeconfig.makeApiClient(CustomObjectsApi)

const namespace = `crd-table-${process.pid}`
const inGroup = (group: string) => ({ group, version: "v1alpha1", namespace, plural: "platforminstances" })
const strict = { fieldValidation: "Strict", dryRun: "All" }

const ours = "platform.di-framework.dev"
const copied = "copy.crd-table.example"
const widened = "wider.crd-table.example"

const crds = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" }

/** The CRD under another group, its text changed on the way. */
const copyOfCrd = (group: string, change: (json: string) => string = (json) => json): JsonObject => {
  const { shortNames: _, ...names } = crd.spec.names
  return JSON.parse(
    change(
      JSON.stringify({
        ...crd,
        metadata: { name: `${crd.spec.names.plural}.${group}` },
        spec: { ...crd.spec, group, names },
      }),
    ),
  )
}

/** Creates the CRD unless it is there, and waits until its objects can be listed. */
const install = async (group: string, body: object): Promise<void> => {
  await custom.createClusterCustomObject({ ...crds, body }).catch((error: unknown) => {
    if (!(error instanceof ApiException && error.code === 409)) throw error
  })
  await vi.waitFor(() => custom.listNamespacedCustomObject(inGroup(group)), {
    timeout: 30_000,
    interval: 200,
  })
}

/** What the server said: nothing when it agreed. */
const refusal = (request: Promise<unknown>): Promise<string | undefined> =>
  request.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof ApiException && error.code >= 400 && error.code < 500) return String(error.body)
      throw error
    },
  )

const judge = (row: Verdict, said: string | undefined) => {
  if (row.valid) assert.isUndefined(said)
  else assert.isDefined(said)
  if (row.message !== undefined) assert.include(said, row.message)
}

/** Creates an object of a copied CRD, asks for the change as a dry run, and removes it. */
const judgeChange = async (
  row: Verdict,
  group: string,
  before: JsonObject,
  after: JsonObject,
  subresource?: "status",
): Promise<void> => {
  const at = inGroup(group)
  const apiVersion = `${group}/v1alpha1`
  const name = "one"
  const created = await custom.createNamespacedCustomObject({ ...at, body: { ...before, apiVersion } })
  try {
    const body = {
      ...after,
      apiVersion,
      metadata: { name, resourceVersion: created.metadata.resourceVersion },
    }
    judge(
      row,
      await refusal(
        subresource === "status"
          ? custom.replaceNamespacedCustomObjectStatus({ ...at, ...strict, name, body })
          : custom.replaceNamespacedCustomObject({ ...at, ...strict, name, body }),
      ),
    )
  } finally {
    await custom.deleteNamespacedCustomObject({ ...at, name })
  }
}

const instance = (type: string): JsonObject => ({
  kind: "PlatformInstance",
  metadata: { name: "one" },
  spec: { version: "6.0.22", target: { type } },
})

beforeAll(async () => {
  await core.createNamespace({ body: { metadata: { name: namespace } } })
  await install(ours, crd)
  await install(copied, copyOfCrd(copied))
  await install(
    widened,
    copyOfCrd(widened, (json) => json.replace('"enum":["vcluster"]', '"enum":["vcluster","other"]')),
  )
})

afterAll(async () => {
  for (const group of [copied, widened])
    await custom.deleteClusterCustomObject({ ...crds, name: `${crd.spec.names.plural}.${group}` })
  await core.deleteNamespace({ name: namespace })
})

describe("the CRD on the API server", () => {
  it("is the one of these sources", async () => {
    const installed = await custom.getClusterCustomObject({ ...crds, name: crd.metadata.name })
    assert.deepStrictEqual(
      JSON.parse(JSON.stringify(installed.spec.versions[0].schema)),
      JSON.parse(JSON.stringify(crd.spec.versions[0].schema)),
    )
    const conditions: ReadonlyArray<{ readonly type: string }> = installed.status.conditions
    assert.notInclude(
      conditions.map(({ type }) => type),
      "NonStructuralSchema",
    )
  })

  it.each(manifestRows)("create: $title", async (row) => {
    judge(
      row,
      await refusal(custom.createNamespacedCustomObject({ ...inGroup(ours), ...strict, body: row.manifest })),
    )
  })

  it.each(updateRows)("update: $title", (row) => judgeChange(row, copied, row.before, row.after))

  it.each(statusRows)("$title", (row) =>
    judgeChange(row, copied, instance("vcluster"), { ...instance("vcluster"), status: row.status }, "status"),
  )

  it("says that the target is immutable as soon as there is another one to change to", () =>
    judgeChange(
      { valid: false, message: "target is immutable" },
      widened,
      instance("vcluster"),
      instance("other"),
    ))
})
