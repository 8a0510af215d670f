// The decoders that stand where something comes in from outside, each with samples it takes. What one answers is either what
// it has taken, or what was wrong; nothing else may happen.
import { inspect } from "node:util"
import { gzipSync } from "node:zlib"
import { Cause, Effect, Exit, FileSystem, Layer, Option, Path, Redacted, Result, Schema } from "effect"
import { expiriesOf } from "../../src/actors/instance/metrics/certificates.ts"
import { requestIn } from "../../src/actors/instance/settle.ts"
import { parseChange } from "../../src/actors/instance/trace/annotation.ts"
import { crd } from "../../src/schema/Crd.ts"
import { missingFields } from "../../src/schema/CrdCompatibility.ts"
import { memoOf, windowsIn } from "../../src/schema/DayTwo.ts"
import { decodeDeletionView } from "../../src/schema/DeletionView.ts"
import { HistoryText } from "../../src/schema/History.ts"
import { decodeManifest } from "../../src/schema/Manifest.ts"
import { ANNOTATION_DAY_TWO } from "../../src/schema/Names.ts"
import { decodePlatformInstance } from "../../src/schema/PlatformInstance.ts"
import { formatSchemaError } from "../../src/schema/SchemaErrors.ts"
import { parseTime } from "../../src/schema/Time.ts"
import { opensAt, parseWindows } from "../../src/schema/Windows.ts"
import { releaseRevisions, storedRelease } from "../../src/services/Helm/ReleaseRecord.ts"
import { loadText } from "../../src/services/Kubernetes/Credentials.ts"
import { Namespace } from "../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../src/services/Kubernetes/Kubernetes.ts"
import { decodeListPage, decodeObject, decodeStatus } from "../../src/services/Kubernetes/Objects.ts"
import { decodeLine, makeLineSplitter } from "../../src/services/Kubernetes/WatchDecoder.ts"
import { leaseState } from "../../src/services/LeaderElection/Lease.ts"
import { approvedHostBuilds, decodeReading } from "../../src/services/Pulumi/ApprovedHostBuilds.ts"
import { engineSpans } from "../../src/services/Pulumi/EngineSpans.ts"
import { LockContent } from "../../src/services/Pulumi/Evidence.ts"
import { decodeEvent, decodeRequest } from "../../src/services/Pulumi/Protocol.ts"
import { kubeconfigSecrets, redaction } from "../../src/services/Pulumi/Redact.ts"
import { readState } from "../../src/services/Pulumi/StateFile.ts"
import { InstanceRecord, OperationMarker } from "../../src/services/StateStore/StateStore.ts"
import { isJson } from "../twins/kubernetes/Json.ts"
import type { Json } from "./mutations.ts"

const noon = Date.UTC(2026, 10, 3, 12)

/** Stands in every sample where a secret would. */
export const canary = "canary-0f5ec7e7c0de"

export type Answer =
  | { readonly taken: unknown }
  /** What was wrong, in words; `undefined` where the caller is not told, and goes on as without it. */
  | { readonly refused: string | undefined }

interface Common {
  /** What comes in. */
  readonly name: string
  /** The refusal is for people who may not see a secret that came in. */
  readonly secret?: boolean
  /** What is kept is at most this many times as long as what came in; of little that came in it may be more. */
  readonly growth?: number
}
export type Border = Common &
  (
    | {
        readonly form: "value"
        readonly samples: ReadonlyArray<Json>
        readonly decode: (input: Json) => Answer
      }
    | {
        readonly form: "text" | "packed"
        readonly samples: ReadonlyArray<Json>
        readonly decode: (input: Uint8Array) => Answer
      }
  )

/** A defect is none of the answers: it goes on to whoever runs the decoder. */
const answerOf = <A, E>(effect: Effect.Effect<A, E>, words: (error: E) => string | undefined): Answer => {
  const exit = Effect.runSyncExit(effect)
  if (Exit.isSuccess(exit)) return { taken: exit.value }
  return Option.match(Cause.findErrorOption(exit.cause), {
    onNone: () => {
      throw Cause.squash(exit.cause)
    },
    onSome: (error) => ({ refused: words(error) }),
  })
}
const ofOption = (option: Option.Option<unknown>): Answer =>
  Option.match(option, { onNone: () => ({ refused: undefined }), onSome: (taken) => ({ taken }) })
const ofExit = (exit: Exit.Exit<unknown, unknown>): Answer => answerOf(exit, () => undefined)
const textOf = (input: Uint8Array): string => Buffer.from(input).toString("utf8")
const asText = (schema: Schema.Codec<unknown, string>) => {
  const decode = Schema.decodeEffect(schema)
  return (input: Uint8Array): Answer => answerOf(decode(textOf(input)), () => undefined)
}

const instance = {
  apiVersion: "platform.di-framework.dev/v1alpha1",
  kind: "PlatformInstance",
  metadata: {
    name: "one",
    namespace: "team-a",
    uid: "4be1",
    resourceVersion: "7",
    generation: 2,
    creationTimestamp: "2026-11-03T10:00:00Z",
    annotations: { "platform.di-framework.dev/reconcile-requested-at": "now" },
  },
  spec: {
    version: "6.0.22",
    target: { type: "vcluster" },
    deletionPolicy: "Retain",
    platform: {
      networkPolicyEngine: "existing",
      gateway: { httpNodePort: 30080, httpEndpoint: "http://apps.example:30080" },
      tenants: [{ name: "acme", resources: { cpu: "2", memory: "2Gi", workloads: 20 } }],
      users: [{ name: "dev", memberships: [{ tenant: "acme", role: "developer" }] }],
    },
  },
}
const status = {
  phase: "Ready",
  observedGeneration: 2,
  installedVersion: "6.0.22",
  conditions: [
    {
      type: "Ready",
      status: "True",
      reason: "Ready",
      message: "",
      observedGeneration: 2,
      lastTransitionTime: "2026-11-03T10:00:00Z",
    },
  ],
}

/** The path of a field, or the object itself by what was expected of it: also of its name, by the rule of the whole object. */
const namesField = (message: string): string => {
  if (!/^(\S+: |Expected|name must )/.test(message))
    throw new Error(`a refusal that names no field: ${message}`)
  return message
}
const refusedFields = (error: Schema.SchemaError): string => namesField(formatSchemaError(error))

/** Only a policy that says so, or says nothing, deletes. */
const deletionView = (input: Json): Answer => {
  const answer = answerOf(decodeDeletionView(input), refusedFields)
  if (!("taken" in answer)) return answer
  const spec = isJson(input) ? input.spec : undefined
  const policy =
    spec !== undefined && isJson(spec) ? spec.deletionPolicy : spec === undefined ? undefined : "?"
  const deletes = (answer.taken as { readonly deletionPolicy: string }).deletionPolicy === "Delete"
  if (deletes && ![undefined, null, "", "Delete"].some((plain) => plain === policy))
    throw new Error(`deleted by the policy ${JSON.stringify(policy)}`)
  return answer
}

const configMap = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: {
    name: "a",
    uid: "u",
    resourceVersion: "12",
    labels: { a: "b" },
    managedFields: [{ manager: "x" }],
  },
  data: { text: "hello" },
}
const failure = {
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message: "too old resource version",
  reason: "Expired",
  code: 410,
}

const release = {
  name: "vcluster",
  info: { status: "deployed", description: "Install complete" },
  apply_method: "ssa",
  manifest: `---
apiVersion: v1
kind: Secret
metadata: {name: a, namespace: b}
stringData: {password: ${canary}}
---
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: Service, metadata: {name: c}, spec: {ports: [&p {port: 0x1F}, *p]}}
`,
}
const secretOf = (payload: Uint8Array): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "sh.helm.release.v1.vcluster.v1", uid: "u", resourceVersion: "1" },
  data: {
    release: Buffer.from(Buffer.from(payload).toString("base64")).toString("base64"),
  },
})

const kubeconfig = {
  apiVersion: "v1",
  kind: "Config",
  "current-context": "c",
  contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
  clusters: [
    { name: "k", cluster: { server: "https://localhost:8443", "certificate-authority-data": "QQ==" } },
  ],
  users: [{ name: "u", user: { token: canary, "client-key-data": Buffer.from(canary).toString("base64") } }],
}

const state = {
  version: 3,
  checkpoint: {
    stack: "organization/platform-instance/instance",
    latest: {
      resources: [
        { type: "pulumi:pulumi:Stack", urn: "a" },
        {
          type: "kubernetes:helm.sh/v3:Release",
          urn: "b",
          inputs: { namespace: "wasmcloud", values: { password: canary } },
          outputs: { name: "made", namespace: "wasmcloud" },
        },
      ],
      pending_operations: [{ type: "creating", resource: { type: "kubernetes:core/v1:Namespace" } }],
    },
  },
}
/** A backend whose one file is what came in. */
const readStateOf = (input: Uint8Array) =>
  readState({ root: "/r", project: "/r/project", backend: "/r/backend" }).pipe(
    Effect.provide(
      Layer.merge(
        FileSystem.layerNoop({
          readFile: (file) => (file.endsWith(".gz") ? Effect.succeed(input) : Effect.die("absent")),
        }),
        Path.layer,
      ),
    ),
  )

const spans = {
  resourceSpans: [
    {
      scopeSpans: [
        {
          spans: [
            {
              name: `pulumi ${canary}`,
              spanId: "00f067aa0ba902b7",
              startTimeUnixNano: "1700000000000000000",
              endTimeUnixNano: "1700000001000000000",
              attributes: [
                { key: "urn", value: { stringValue: canary } },
                { key: "rpc.x", value: { intValue: "3" } },
              ],
              status: { code: 2, message: canary },
            },
          ],
        },
      ],
    },
  ],
}
const withoutCanary = (input: Uint8Array): Answer => {
  const text = engineSpans(textOf(input), redaction([canary]))
    .map((span) => inspect(span, { depth: 6 }))
    .join("\n")
  if (text.includes(canary)) throw new Error("a secret in the engine's spans")
  return text === "" ? { refused: undefined } : { taken: text }
}

const traceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

export const borders: ReadonlyArray<Border> = [
  {
    name: "a PlatformInstance that the API server sends",
    form: "value",
    samples: [instance, { ...instance, status }],
    decode: (input) => answerOf(decodePlatformInstance(input), refusedFields),
  },
  {
    name: "a PlatformInstance that somebody applies",
    form: "value",
    samples: [{ ...instance, status }],
    decode: (input) => answerOf(decodeManifest(input), refusedFields),
  },
  {
    name: "an instance that is being deleted",
    form: "value",
    samples: [instance, { metadata: instance.metadata }],
    decode: deletionView,
  },
  {
    name: "annotations of an instance",
    form: "value",
    samples: [
      { annotations: { trace: `${traceParent} 3 2026-11-03T10:00:00Z 4be1`, time: "2026-11-03T10:00:00Z" } },
    ],
    decode: (input) => {
      const given = isJson(input) ? input.annotations : undefined
      const annotations = Object.fromEntries(
        Object.entries(given !== undefined && isJson(given) ? given : {}).filter(
          (entry): entry is [string, string] => typeof entry[1] === "string",
        ),
      )
      requestIn({ annotations })
      return ofOption(Option.all([parseChange(annotations.trace, "4be1"), parseTime(annotations.time ?? "")]))
    },
  },
  {
    name: "the installed CRD",
    form: "value",
    samples: [JSON.parse(JSON.stringify(crd))],
    decode: (input) => {
      const missing = missingFields(input)
      return missing.length === 0 ? { taken: true } : { refused: missing.join(", ").slice(0, 4000) }
    },
  },
  {
    name: "a line of a watch",
    form: "text",
    samples: [
      { type: "ADDED", object: configMap },
      { type: "BOOKMARK", object: { metadata: { resourceVersion: "7" } } },
      { type: "ERROR", object: failure },
    ],
    decode: (input) => {
      const lines = makeLineSplitter()(Buffer.concat([input, Buffer.from("\n")]))
      if (Result.isFailure(lines)) return { refused: lines.failure.message || String(lines.failure.size) }
      const [line = new Uint8Array()] = lines.success
      const decoded = decodeLine(Namespace, line)
      return Result.isSuccess(decoded) ? { taken: decoded.success } : { refused: String(decoded.failure) }
    },
  },
  {
    name: "a page of a list",
    form: "value",
    samples: [
      { kind: "NamespaceList", metadata: { resourceVersion: "9", continue: "x" }, items: [configMap] },
    ],
    decode: (input) => ofOption(decodeListPage(Namespace, input)),
  },
  {
    name: "an object",
    form: "value",
    samples: [configMap],
    decode: (input) => ofOption(decodeObject(Namespace, input)),
  },
  {
    name: "a refusal of the API server",
    form: "value",
    samples: [failure],
    decode: (input) => ofOption(decodeStatus(input)),
  },
  {
    name: "a Lease",
    form: "value",
    samples: [
      {
        ...configMap,
        spec: { holderIdentity: "a", leaseDurationSeconds: 15, renewTime: "2026-11-03T10:00:00.000000Z" },
      },
    ],
    decode: (input) =>
      Option.match(decodeObject(Namespace, input), {
        onNone: () => ({ refused: undefined }),
        onSome: (object) => ({ taken: leaseState(object) }),
      }),
  },
  {
    name: "the content of a release record",
    form: "packed",
    samples: [release],
    secret: true,
    // Helm's own anchors may be used again and again; the parser stops at a hundred.
    growth: 200,
    decode: (input) => answerOf(storedRelease(secretOf(input)), (error) => String(error)),
  },
  {
    name: "a release record",
    form: "value",
    samples: [
      {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "x", uid: "x", resourceVersion: "1", labels: { status: "deployed", version: "3" } },
      },
    ],
    decode: (input) =>
      Option.match(decodeObject(Namespace, input), {
        onNone: () => ({ refused: undefined }),
        onSome: (object) => ({ taken: releaseRevisions([object]) }),
      }),
  },
  {
    name: "a kubeconfig",
    form: "text",
    samples: [kubeconfig],
    secret: true,
    growth: 200,
    decode: (input) => {
      const text = textOf(input)
      expiriesOf(text)
      kubeconfigSecrets(text)
      return answerOf(
        Effect.map(loadText(Redacted.make(text)), ({ clusters }) => clusters.length),
        ({ message }) => message,
      )
    },
  },
  {
    name: "the state of the engine",
    form: "packed",
    samples: [state],
    secret: true,
    decode: (input) => answerOf(readStateOf(input), ({ message }) => message),
  },
  {
    name: "the engine's spans",
    form: "text",
    samples: [spans],
    decode: withoutCanary,
  },
  {
    name: "an event of a runner",
    form: "text",
    samples: [
      { type: "step", step: "up" },
      {
        type: "resource",
        state: "failed",
        urn: "u",
        operation: "create",
        release: { namespace: "a", name: "b" },
      },
      { type: "outcome", outcome: "failed", step: "up", message: "m", changes: { create: 3 } },
      { type: "outputs", outputs: { schemaVersion: 2, namespace: "n", endpoints: {}, tenants: ["a"] } },
    ],
    decode: (input) => ofExit(decodeEvent(textOf(input))),
  },
  {
    name: "a request to a runner",
    form: "text",
    samples: [
      {
        type: "run",
        projectDirectory: "/p",
        project: "p",
        stack: "s",
        config: { a: "b" },
        secretConfig: { c: canary },
        refresh: true,
      },
      { type: "cancel" },
    ],
    secret: true,
    decode: (input) => ofExit(decodeRequest(textOf(input))),
  },
  {
    name: "what a platform package says of itself",
    form: "text",
    samples: [{ entrypoint: ["a@sha256:1"], manifest: null }],
    decode: (input) =>
      answerOf(Effect.map(decodeReading(textOf(input)), approvedHostBuilds), () => undefined),
  },
  {
    name: "a lock of the engine",
    form: "text",
    samples: [{ pid: 7, username: "u", hostname: "h", timestamp: "2026-11-03T10:00:00Z" }],
    decode: asText(Schema.fromJsonString(LockContent)),
  },
  {
    name: "the history of an instance",
    form: "text",
    samples: [
      {
        format: 1,
        operations: [
          { what: "repair", why: "due", outcome: "running", startedAt: "2026-11-03T10:00:00Z", changed: [] },
        ],
      },
    ],
    decode: asText(HistoryText),
  },
  {
    name: "the record of an instance",
    form: "text",
    samples: [{ format: 1, uid: "u", serviceUID: "s" }],
    decode: asText(Schema.fromJsonString(InstanceRecord)),
  },
  {
    name: "what is remembered of annotations",
    form: "text",
    samples: [
      {
        uid: "u",
        pausedSince: "2026-11-03T10:00:00Z",
        sleep: {
          askedAt: "2026-11-03T10:00:00Z",
          pods: 2,
          memory: 1,
          bare: ["a/b"],
          since: "2026-11-03T10:01:00Z",
        },
        kept: { "platform.di-framework.dev/window": "Sat 02:00-04:00 Europe/Berlin" },
        told: { "platform.di-framework.dev/paused": "yes" },
      },
    ],
    decode: (input) => {
      const annotations = { [ANNOTATION_DAY_TWO]: Buffer.from(input).toString("utf8") }
      return ofOption(Option.map(memoOf({ uid: "u", annotations }), (memo) => [memo, windowsIn(memo)]))
    },
  },
  {
    name: "maintenance windows",
    form: "value",
    samples: ["Sat 02:00-04:00 Europe/Berlin", "Mon-Fri 22:00-04:00 UTC; Sun 00:00-24:00 UTC"],
    decode: (input) => {
      // The API server lets nothing into an annotation but text.
      const parsed = parseWindows(typeof input === "string" ? input : "")
      if (Result.isFailure(parsed)) return { refused: parsed.failure }
      // One that was taken opens within eight days.
      const at = opensAt(parsed.success, noon)
      if (!(at >= noon && at <= noon + 8 * 24 * 3_600_000)) throw new Error(`opens at ${at}`)
      return { taken: at }
    },
  },
  {
    name: "the mark of an operation",
    form: "text",
    samples: [
      {
        format: 1,
        kind: "repair",
        version: "6.0.22",
        generation: 3,
        startedAt: "2026-11-03T10:00:00Z",
        holder: { podName: "a", podUID: "b", incarnation: "c" },
      },
    ],
    decode: asText(Schema.fromJsonString(OperationMarker)),
  },
]

/** What is sent of a sample. */
export const encoded = (border: Border, sample: Json): Uint8Array =>
  border.form === "packed" ? gzipSync(JSON.stringify(sample)) : Buffer.from(JSON.stringify(sample))
