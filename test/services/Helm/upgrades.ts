// One release, upgraded again and again through the operator's own Helm (field report F54). Run over the twins of helm and
// the API server, and over the real ones.
import { gunzipSync } from "node:zlib"
import { assert } from "@effect/vitest"
import { Effect, Option } from "effect"
import { vclusterValues } from "../../../src/actors/instance/target/VclusterValues.ts"
import { Helm } from "../../../src/services/Helm/Helm.ts"
import { recordName, recordSelector } from "../../../src/services/Helm/ReleaseRecord.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { Kubernetes } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { at } from "../../twins/kubernetes/Json.ts"

const namespace = "host"
const release = { namespace, name: "vcluster" }
const kept = 5

/** What YAML, JSON and a shell each have a way of their own with. */
const texts = [
  "Grüße, 世界 \u{1F680}",
  "e\u0301 \u00e9 \u{1F469}\u{1F3FD}\u200d\u{1F4BB} \u202e\u05e9\u05dc\u05d5\u05dd\u202c",
  "back\\slash \"quoted\" 'single' $(id) `id` {{ .Values }} %s",
  "two\nlines\tand a tab, a trailing blank ",
  "\ufeffmark \u00a0 \ufffd \u{10ffff}",
  // To YAML 1.1 these are ends of lines, and those not even allowed.
  "one \u2028 two \u2029 three\u2028\u2029four ",
  "one\u0085two \u007f \u0080 \u009b \ufffe \uffff",
  "yes",
  "0644",
  "1:30",
  "---\n# no comment",
]
/** Helm keeps them in the record; its own `toYaml`, which puts values into objects, does not take them. */
const onlyKept = /[\u007f-\u009f\ufffe\uffff]/
const textOf = (revision: number) => `${texts[revision % texts.length]}`

const valuesOf = (revision: number) => {
  const { controlPlane, ...values } = vclusterValues({ hostNamespace: namespace })
  return {
    ...values,
    controlPlane: { ...Object(controlPlane), service: { annotations: { text: textOf(revision) } } },
  }
}

const kinds = [
  Kinds.ServiceAccount,
  Kinds.Secret,
  Kinds.ConfigMap,
  Kinds.Service,
  Kinds.StatefulSet,
  Kinds.Role,
  Kinds.RoleBinding,
  Kinds.Event,
]

/** All that lies in the release's namespace, without what somebody else puts into each one. */
const objects = Effect.gen(function* () {
  const kubernetes = yield* Kubernetes
  const found = yield* Effect.forEach(kinds, (kind) =>
    Effect.map(kubernetes.list(kind, { namespace }), (list) =>
      list.map(({ metadata }) => `${kind.kind}/${metadata.name}`),
    ),
  )
  return found.flat().filter((name) => !/\/(default|kube-root-ca\.crt)$/.test(name))
})

const records = Effect.gen(function* () {
  const kubernetes = yield* Kubernetes
  const found = yield* kubernetes.list(Kinds.Secret, { namespace, labelSelector: recordSelector(release) })
  return found.map(({ metadata }) => metadata.name).toSorted()
})

/** The values in the record of a revision. */
const storedValues = Effect.fnUntraced(function* (revision: number) {
  const kubernetes = yield* Kubernetes
  const record = yield* kubernetes.get(Kinds.Secret, { namespace, name: recordName(release, revision) })
  const payload = String(at(Option.getOrThrow(record), "data", "release"))
  const packed = Buffer.from(Buffer.from(payload, "base64").toString("latin1"), "base64")
  return at(JSON.parse(gunzipSync(packed).toString("utf8")), "config")
})

const isRecord = (name: string) => name.startsWith("Secret/sh.helm.release.")

/**
 * Installs the release and upgrades it, each time with another text, to so many revisions. `files`: all that is in helm's
 * temporary space.
 */
export const upgradeMany = Effect.fnUntraced(function* <E>(
  revisions: number,
  files: Effect.Effect<ReadonlyArray<string>, E>,
) {
  const helm = yield* Helm
  const kubernetes = yield* Kubernetes
  yield* kubernetes.create(Kinds.Namespace, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace },
  })
  let full: { readonly objects: ReadonlyArray<string>; readonly files: ReadonlyArray<string> } | undefined
  for (let revision = 1; revision <= revisions; revision += 1) {
    yield* helm.install(release, valuesOf(revision))
    const oldest = Math.max(1, revision - kept + 1)
    const state = {
      revision,
      status: "deployed" as const,
      lastDeployed: Option.some(revision),
      lastSuperseded: revision === 1 ? Option.none() : Option.some(revision - 1),
      oldest,
    }
    assert.deepStrictEqual(yield* helm.state(release), Option.some(state))
    const newest = Array.from({ length: Math.min(revision, kept) }, (_, back) =>
      recordName(release, revision - back),
    )
    assert.deepStrictEqual(yield* records, newest.toSorted())
    assert.deepStrictEqual(yield* storedValues(revision), valuesOf(revision))
    if (onlyKept.test(textOf(revision))) continue
    const service = (yield* helm.stored(release, revision)).objects.find(
      ({ kind, metadata }) => kind === "Service" && metadata.name === "vcluster",
    )
    assert.strictEqual(service?.metadata.annotations?.text, textOf(revision), "as the record has it")
    const applied = yield* kubernetes.get(Kinds.Service, { namespace, name: "vcluster" })
    const text = Option.getOrUndefined(applied)?.metadata.annotations?.text
    assert.strictEqual(text, textOf(revision), "as the server has it")
    if (revision === kept) full = { objects: yield* objects, files: yield* files }
  }
  assert.isAbove(revisions, kept)
  const now = yield* objects
  assert.deepStrictEqual(
    now.filter((name) => !isRecord(name)),
    full?.objects.filter((name) => !isRecord(name)),
  )
  assert.strictEqual(now.length, full?.objects.length)
  assert.deepStrictEqual(yield* files, full?.files)
  // Any of those that are kept is one to go back to.
  yield* helm.rollback(release, revisions - kept + 1)
  assert.deepStrictEqual(
    Option.map(yield* helm.state(release), ({ lastDeployed }) => lastDeployed),
    Option.some(Option.some(revisions + 1)),
  )
})
