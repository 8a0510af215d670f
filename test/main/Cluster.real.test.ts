// A start over a real API server: its own definitions, its own refusals.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { startApiServer } from "../services/Pulumi/apiServer.ts"
import { startOperator } from "./operator.ts"

const crdFile = fileURLToPath(new URL("../../crd/platforminstances.yaml", import.meta.url))
const NAME = "platforminstances.platform.di-framework.dev"

const instance = {
  apiVersion: "platform.di-framework.dev/v1alpha1",
  kind: "PlatformInstance",
  metadata: { namespace: "default", name: "one", finalizers: ["platform.di-framework.dev/instance"] },
  spec: { version: "6.0.22", target: { type: "vcluster" }, deletionPolicy: "Retain" },
}

describe("a start over a real API server", () => {
  it.live(
    "waits for the CRD, then for its newest fields, and completes a deletion without a passphrase",
    () =>
      Effect.gen(function* () {
        const root = yield* Effect.acquireRelease(
          Effect.sync(() => mkdtempSync(join(tmpdir(), "operator-cluster-"))),
          (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
        )
        const api = yield* startApiServer(root)
        const operator = yield* startOperator({ kubeconfig: api.kubeconfig })
        const readyz = (status: number, body: string) =>
          operator.get("/readyz").pipe(
            Effect.repeat({
              schedule: Schedule.spaced("200 millis"),
              until: (answer) => answer.status === status && answer.body.includes(body),
            }),
          )
        yield* readyz(503, `the CRD ${NAME} is not installed`)

        const current = readFileSync(crdFile, "utf8")
        writeFileSync(`${root}/older.yaml`, current.replace(/\bresyncStarted:/u, "resyncBegun:"))
        yield* api.kubectl("apply", "--server-side", "-f", `${root}/older.yaml`)
        yield* operator.message("caches are complete")
        const { body } = yield* readyz(503, "lacks")
        assert.strictEqual(
          body,
          `the CRD ${NAME} lacks status.target.resyncStarted; upgrade it with the chart\n`,
        )

        yield* api.kubectl("apply", "--server-side", "-f", crdFile)
        yield* readyz(200, "ok\n")

        writeFileSync(`${root}/instance.yaml`, JSON.stringify(instance))
        yield* api.kubectl("apply", "-f", `${root}/instance.yaml`)
        yield* api.kubectl("delete", "platforminstance", "one", "--wait=false")
        yield* api.kubectl("wait", "--for=delete", "platforminstance/one", "--timeout=5m")
        assert.include(operator.output(), "the passphrase file cannot be used")
      }),
    10 * 60_000,
  )
})
