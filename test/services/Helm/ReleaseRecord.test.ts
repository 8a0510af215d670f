import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { releaseObjects, releaseState, storedRelease } from "../../../src/services/Helm/ReleaseRecord.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"

const secret = (name: string, more: Readonly<Record<string, unknown>>): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, uid: name, resourceVersion: "1" },
  ...more,
})

const record = (version: string, status: string): KubeObject => {
  const name = `sh.helm.release.v1.vcluster.v${version}`
  const labels = { name: "vcluster", owner: "helm", status, version, modifiedAt: "1700000000" }
  return secret(name, { metadata: { name, uid: name, resourceVersion: "1", labels } })
}

describe("the state of a release", () => {
  it("is none without a record", () => {
    assert.deepStrictEqual(releaseState([]), Option.none())
  })

  it("is the status of the highest revision, compared as a number", () => {
    const state = releaseState([
      record("9", "superseded"),
      record("11", "pending-upgrade"),
      record("10", "deployed"),
    ])
    assert.deepStrictEqual(
      state,
      Option.some({
        revision: 11,
        status: "pending-upgrade" as const,
        lastDeployed: Option.some(10),
        lastSuperseded: Option.some(9),
        oldest: 9,
      }),
    )
  })

  it("has no deployed revision while the first install runs", () => {
    assert.deepStrictEqual(
      releaseState([record("1", "pending-install")]),
      Option.some({
        revision: 1,
        status: "pending-install" as const,
        lastDeployed: Option.none(),
        lastSuperseded: Option.none(),
        oldest: 1,
      }),
    )
  })

  it("takes a status it does not know for unknown, and a Secret without a revision for none of the release", () => {
    assert.deepStrictEqual(
      releaseState([record("1", "levitating"), record("latest", "deployed"), secret("x", {})]),
      Option.some({
        revision: 1,
        status: "unknown" as const,
        lastDeployed: Option.none(),
        lastSuperseded: Option.none(),
        oldest: 1,
      }),
    )
  })
})

const manifest = `---
# Source: vcluster/templates/services.yaml
apiVersion: v1
kind: Service
metadata:
  name: vcluster
  namespace: host
  annotations:
spec:
  selector: {app: vcluster}
---
# Source: vcluster/templates/empty.yaml
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: vc-vcluster-v-host
---
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: Secret, metadata: {name: listed, namespace: host}}
`

const payload = (release: unknown, pack: (text: string) => Uint8Array = gzipSync) =>
  secret("r", {
    data: {
      release: Buffer.from(Buffer.from(pack(JSON.stringify(release))).toString("base64")).toString("base64"),
    },
  })

const objects = [
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "vcluster", namespace: "host" },
    spec: { selector: { app: "vcluster" } },
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "vc-vcluster-v-host" },
  },
  { apiVersion: "v1", kind: "Secret", metadata: { name: "listed", namespace: "host" } },
]

describe("the objects of a release", () => {
  it.effect("are those of the stored manifest, lists taken apart, empty fields left out", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* releaseObjects(payload({ name: "vcluster", manifest })), objects)
    }),
  )

  it.effect("are found in a record that is not gzipped, too", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* releaseObjects(payload({ manifest }, (text) => Buffer.from(text))),
        objects,
      )
    }),
  )

  for (const [what, broken, why] of [
    ["without a payload", secret("r", {}), "it has no key release"],
    ["that is no gzip", secret("r", { data: { release: "H4sIAAAA" } }), "release"],
    ["that is no release", payload({ chart: {} }), "its payload is not a release"],
    [
      "with a manifest that would take a minute to read",
      payload({ manifest: "a: hunter2\n---\n".repeat(300_000) }),
      "its manifest has 4500000 characters",
    ],
    ["with a manifest that is no YAML", payload({ manifest: "a: [" }), "its manifest is not YAML"],
    [
      "with something else in its manifest",
      payload({ manifest: "kind: Secret\nstringData: {password: hunter2}" }),
      "its manifest holds something that is not an object",
    ],
  ] as const) {
    it.effect(`are an error for a record ${what}, without its content`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(releaseObjects(broken))
        assert.include(error, why)
        assert.notInclude(error, "hunter2")
      }),
    )
  }
})

describe("what a record holds", () => {
  const stored = (release: object) =>
    storedRelease(
      payload({ manifest: "spec: {mode: 0644, on: yes, at: 22:30, day: 2026-01-02}\n", ...release }),
    )

  it.effect("is read as Helm reads it", () =>
    Effect.gen(function* () {
      const { documents } = yield* stored({})
      assert.deepStrictEqual(documents, [{ spec: { mode: 420, true: true, at: "22:30", day: "2026-01-02" } }])
    }),
  )

  it.effect("says whether Helm applied it on the server", () =>
    Effect.gen(function* () {
      assert.isTrue((yield* stored({ apply_method: "ssa" })).serverSide)
      assert.isFalse((yield* stored({ apply_method: "csa" })).serverSide)
      assert.isFalse((yield* stored({})).serverSide)
    }),
  )
})
