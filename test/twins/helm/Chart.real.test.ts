// The charts as the twin renders them, against real helm: the same objects, and the same text where a hash is made of it.
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { vclusterValues } from "../../../src/actors/instance/target/VclusterValues.ts"
import { render } from "../../charts/helm.ts"
import type { Json } from "../kubernetes/Json.ts"
import { manifestObjects, readChart, renderManifest } from "./Chart.ts"
import { chartFolders, filesOnDisk, knownCharts } from "./charts/index.ts"
import { goYaml, type JsonObject } from "./GoYaml.ts"

const release = { name: "vcluster", namespace: "platform-one-a1b2c3" }

/** Helm prints objects in the order in which it installs them, which is part of the claim. */
const agree = (chart: keyof typeof chartFolders, values: Json, named = release) => {
  const folder = chartFolders[chart]
  const twin = renderManifest(readChart(folder, filesOnDisk(folder), knownCharts), named, values)
  const real = render(folder, { release: named.name, namespace: named.namespace, values })
  assert.deepStrictEqual<unknown>(manifestObjects(twin), real)
}

const vclusterCases: ReadonlyArray<readonly [string, Json]> = [
  ["no values", {}],
  [
    "nodes and classes of the host",
    { sync: { fromHost: { nodes: { enabled: true }, ingressClasses: { enabled: true } } } },
  ],
  ["no rights", { rbac: { role: { enabled: false }, clusterRole: { enabled: false } } }],
  [
    "a class and another size",
    {
      controlPlane: {
        statefulSet: {
          persistence: { volumeClaim: { size: "10Gi", storageClass: "fast", retentionPolicy: "Delete" } },
        },
      },
    },
  ],
  [
    "labels and annotations",
    {
      controlPlane: {
        service: { labels: { a: "b" }, annotations: { c: "d" } },
        advanced: { globalMetadata: { annotations: { e: "f", c: "g" } } },
        statefulSet: { pods: { labels: { h: "i" }, annotations: { j: "k" } } },
      },
    },
  ],
  [
    "pull secrets",
    {
      controlPlane: {
        advanced: {
          serviceAccount: { imagePullSecrets: [{ name: "a" }] },
          workloadServiceAccount: { imagePullSecrets: [{ name: "a" }, { name: "b" }] },
        },
      },
    },
  ],
  [
    "scheduling",
    {
      controlPlane: {
        statefulSet: {
          scheduling: {
            priorityClassName: "p",
            nodeSelector: { a: "b" },
            tolerations: [{ operator: "Exists" }],
          },
          security: { podSecurityContext: { fsGroup: 1 } },
          imagePullPolicy: "Always",
          env: [{ name: "DEBUG", value: "true" }],
        },
      },
    },
  ],
  [
    "no probes, no kubelets",
    {
      controlPlane: {
        statefulSet: { probes: { livenessProbe: { enabled: false }, startupProbe: { enabled: false } } },
      },
      networking: { advanced: { proxyKubelets: { byHostname: false } } },
    },
  ],
  ["a value taken away", { controlPlane: { statefulSet: { resources: { limits: { memory: null } } } } }],
  [
    "a service of another type",
    { controlPlane: { service: { spec: { type: "NodePort", externalTrafficPolicy: "Local" } } } },
  ],
]

const segment = Schema.String.check(Schema.isPattern(/^[a-z0-9]{1,8}([._-][a-z0-9]{1,4})?$/))
const image = Schema.Struct({
  registry: Schema.optionalKey(Schema.Literals(["ghcr.io", "localhost:5000", "registry.example:5000"])),
  path: segment,
  name: segment,
  tag: Schema.optionalKey(
    Schema.Union([
      Schema.String.check(Schema.isPattern(/^[\w][\w.-]{0,12}$/)),
      Schema.Literals(["1.10", "3", "0x1f", "1e3", "yes", "null", "2024-01-01", "012"]),
    ]),
  ),
  digest: Schema.optionalKey(Schema.Literal(`sha256:${"0123456789abcdef".repeat(4)}`)),
})

const reference = ({ registry, path: folder, name, tag, digest }: typeof image.Type): string =>
  `${registry === undefined ? "" : `${registry}/`}${folder}/${name}${tag === undefined ? "" : `:${tag}`}${digest === undefined ? "" : `@${digest}`}`

const Input = Schema.Struct({
  hostNamespace: Schema.String.check(Schema.isPattern(/^[a-z]([a-z0-9-]{0,60}[a-z0-9])?$/)),
  image: Schema.optionalKey(image),
  kubernetesImage: Schema.optionalKey(image),
  imageRegistry: Schema.optionalKey(
    Schema.Literals(["mirror.example", "localhost:5000", "mirror.example/path"]),
  ),
})

describe("charts/vcluster in the twin", () => {
  it.each(vclusterCases)("makes what helm makes of %s", (_, values) => agree("vcluster", values))

  it.prop(
    "makes what helm makes of an instance's values",
    [Input],
    ([{ image: own, kubernetesImage, ...input }]) => {
      const values = vclusterValues({
        ...input,
        ...(own === undefined ? {} : { image: reference(own) }),
        ...(kubernetesImage === undefined ? {} : { kubernetesImage: reference(kubernetesImage) }),
      })
      agree("vcluster", values, { name: "vcluster", namespace: input.hostNamespace })
    },
    { arbitrary: { runs: 40 } },
  )
})

describe("the chart of the platform's stand-in in the twin", () => {
  it.each([{}, { replicas: 3, image: "localhost:5000/other:2" }])("makes what helm makes of %j", (values) =>
    agree("wasmcloud", values, { name: "wasmcloud", namespace: "platform" }),
  )
})

describe("YAML as Go writes it", () => {
  const alphabet = [..."abZ019.-_:/@ #'\"\\\n\té中😀eEonyT{[&*!%~+?|>,\u00a0\r`"]
  const chosen = Schema.Array(Schema.Array(Schema.Literals(alphabet)))
  const folder = mkdtempSync(path.join(tmpdir(), "go-yaml-"))
  mkdirSync(path.join(folder, "templates"))
  writeFileSync(path.join(folder, "Chart.yaml"), "apiVersion: v2\nname: c\nversion: 1.0.0\n")
  writeFileSync(
    path.join(folder, "templates/x.yaml"),
    "kind: ConfigMap\nmetadata: {name: x}\ndata: {{ toYaml .Values | b64enc }}\n",
  )
  const helm = execFileSync("tools/programs/prebuilt-helm.sh", { encoding: "utf8" }).trim()
  const real = (values: JsonObject) => {
    const out = execFileSync(helm, ["template", "x", folder, "--values=-"], {
      input: JSON.stringify(values),
      encoding: "utf8",
    })
    return Buffer.from(/^data: (.*)$/m.exec(out)?.[1] ?? "", "base64").toString("utf8")
  }

  it("quotes what would be read as something else, and breaks lines where Go does", () => {
    const words =
      "true 1.10 3.20 0x1f 0o7 010 08 1e3 1_0 12:30:45 2024-01-01 2024-13-01 null ~ Null nULL y N yes Off 0b11 .5 ._5 5. - = << .inf sha256:a 1:2 0.0 -0 +1 1e 1.2.3 0_ _0 9223372036854775808 ?".split(
        " ",
      )
    const odd = [
      "",
      " ",
      "a: b",
      "a:",
      "a #b",
      "#a",
      "--- a",
      "...",
      "- ",
      "a\n",
      "\na",
      "a\n\n",
      "\n",
      " a\nb",
      "a \nb",
      "long ".repeat(60),
      `'${"long ".repeat(60)}`,
      `\t${"long  ".repeat(60)}`,
    ]
    const values = Object.fromEntries(
      [...words, ...odd].map((word, index) => [`k${index}`, [word, [word], { [`l${index}`]: word }]]),
    )
    assert.strictEqual(goYaml(values), real(values))
  })

  it("sorts keys by letters and numbers", () => {
    const keys =
      "a10 a9 a100 a1 ephemeral-storage cpu app.kubernetes.io/name a_b a/b aB ab Ab byIP byHostname k8s true yes 1.5 100 12".split(
        " ",
      )
    const values = {
      all: Object.fromEntries(keys.map((key) => [key, { x: key }])),
      none: {},
      empty: [{}, [], [1, [2]]],
    }
    assert.strictEqual(goYaml(values), real(values))
  })

  it.prop(
    "is the same for any strings",
    [Schema.Struct({ chosen })],
    ([{ chosen: made }]) => {
      const values = { made: made.map((characters) => characters.join("")) }
      assert.strictEqual(goYaml(values), real(values))
    },
    { arbitrary: { runs: 30 } },
  )
})
