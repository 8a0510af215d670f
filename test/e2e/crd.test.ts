// The CRD on the real API server: every row of test/schema/crd-table.ts must be judged as the table says, and with
// the reference's own words. Rows are sent as dry runs; only what updates start from is really created.
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { ApiException, CoreV1Api, CustomObjectsApi, KubeConfig } from "@kubernetes/client-node"
import {
  type JsonObject,
  manifestRows,
  statusRows,
  updateRows,
  type Verdict,
} from "../schema/crd-table/index.ts"

const kubeconfig = new KubeConfig()
kubeconfig.loadFromFile(process.env.KUBECONFIG ?? "")
const core = kubeconfig.makeApiClient(CoreV1Api)
const custom = kubeconfig.makeApiClient(CustomObjectsApi)

const namespace = `crd-table-${process.pid}`
const resource = {
  group: "platform.di-framework.dev",
  version: "v1alpha1",
  namespace,
  plural: "platforminstances",
}
const strict = { fieldValidation: "Strict", dryRun: "All" }

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

const named = (manifest: JsonObject, name: string, resourceVersion?: string): JsonObject => ({
  ...manifest,
  metadata: resourceVersion === undefined ? { name } : { name, resourceVersion },
})

/** Creates an instance for real, hands it on, and removes it. */
const withInstance = async (
  manifest: JsonObject,
  name: string,
  use: (resourceVersion: string) => Promise<void>,
): Promise<void> => {
  const created = await custom.createNamespacedCustomObject({ ...resource, body: named(manifest, name) })
  try {
    await use(created.metadata.resourceVersion)
  } finally {
    await custom.deleteNamespacedCustomObject({ ...resource, name })
  }
}

beforeAll(async () => {
  await core.createNamespace({ body: { metadata: { name: namespace } } })
})
afterAll(async () => {
  await core.deleteNamespace({ name: namespace })
})

describe("the CRD on the API server", () => {
  it.each(manifestRows)("create: $title", async (row) => {
    judge(
      row,
      await refusal(custom.createNamespacedCustomObject({ ...resource, ...strict, body: row.manifest })),
    )
  })

  it.each(updateRows.map((row, index) => ({ ...row, name: `update-${index}` })))(
    "update: $title",
    async (row) => {
      await withInstance(row.before, row.name, async (resourceVersion) => {
        const body = named(row.after, row.name, resourceVersion)
        judge(
          row,
          await refusal(
            custom.replaceNamespacedCustomObject({ ...resource, ...strict, name: row.name, body }),
          ),
        )
      })
    },
  )

  it.each(statusRows.map((row, index) => ({ ...row, name: `status-${index}` })))("$title", async (row) => {
    const manifest: JsonObject = {
      apiVersion: "platform.di-framework.dev/v1alpha1",
      kind: "PlatformInstance",
      spec: { version: "6.0.22", target: { type: "vcluster" } },
    }
    await withInstance(manifest, row.name, async (resourceVersion) => {
      const body = { ...named(manifest, row.name, resourceVersion), status: row.status }
      judge(
        row,
        await refusal(
          custom.replaceNamespacedCustomObjectStatus({ ...resource, ...strict, name: row.name, body }),
        ),
      )
    })
  })
})
