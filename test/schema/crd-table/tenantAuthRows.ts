// `spec.platform.tenantAuth`.
import {
  auth,
  auths,
  digest,
  field,
  image,
  integerBounds,
  type ManifestRow,
  no,
  oidc,
  ok,
  registry,
  repeat,
  together,
} from "./rows.ts"

const url2048 = `https://${repeat("x", 2040)}`
export const authRows: ReadonlyArray<ManifestRow> = [
  ...field("tenantAuth", auth, [{ image }, null], [{}, "x", { image, unknown: 1 }]),
  ...field(
    "tenantAuth.image",
    (v) => auth({ image: v }),
    [image, `w@${digest}`, `日@${digest}`, `${repeat("w", 440)}@${digest}`, `a\u00a0b@${digest}`],
    [
      "",
      "ghcr.io/di-framework/tenant-auth:1",
      `@${digest}`,
      `a b@${digest}`,
      `a@b@${digest}`,
      `${image}0`,
      `w@${digest.toUpperCase()}`,
      `${repeat("w", 441)}@${digest}`,
      null,
    ],
  ),
  ok("issuer, clientId and clientSecretRef together", auths(oidc)),
  ...["issuer", "clientId", "clientSecretRef"].flatMap((key) => {
    const { [key]: one, ...others } = oidc
    return [
      no(`all but ${key}`, auths(others), together),
      no(`${key} alone`, auths({ [key]: one ?? null }), together),
    ]
  }),
  ...field(
    "tenantAuth.issuer",
    (v) => auths({ ...oidc, issuer: v }),
    ["http://localhost:8080", url2048],
    ["", "id.example", `${url2048}x`, 1],
  ),
  no("tenantAuth.issuer null is absent", auths({ ...oidc, issuer: null }), together),
  ...field(
    "tenantAuth.clientId",
    (v) => auths({ ...oidc, clientId: v }),
    ["c", repeat("c", 253), repeat("😀", 253), " "],
    ["", repeat("c", 254), repeat("😀", 254), 1],
  ),
  ...field(
    "tenantAuth.clientSecretRef",
    (v) => auths({ ...oidc, clientSecretRef: v }),
    [{ name: repeat("n", 253), key: repeat("k", 253) }],
    [
      {},
      { name: "n" },
      { key: "k" },
      { name: "", key: "k" },
      { name: "n", key: "" },
      { name: repeat("n", 254), key: "k" },
      { name: "n", key: repeat("k", 254) },
      { name: "n", key: "k", optional: true },
      "n",
    ],
  ),
  ...field(
    "tenantAuth.issuerUpstream",
    (v) => auths({ issuerUpstream: v }),
    ["", "dex.auth.svc:5556", repeat("x", 512)],
    [repeat("x", 513), 1],
  ),
  ...integerBounds("tenantAuth.issuerUpstreamPodPort", (v) => auths({ issuerUpstreamPodPort: v }), 1, 65535),
  ...field(
    "tenantAuth.issuerIp",
    (v) => auths({ issuerIp: v }),
    ["", "10.0.0.1", "255.255.255.255"],
    ["2001:db8:::::::1", 1],
  ),
  ...field(
    "tenantAuth.consolePublicUrl",
    (v) => auths({ consolePublicUrl: v }),
    ["https://{tenant}.apps.example", url2048],
    ["", "{tenant}.apps.example", `${url2048}x`],
  ),
  ...field(
    "tenantAuth.controllerPublicUrl",
    (v) => auths({ controllerPublicUrl: v }),
    ["http://api.example/{tenant}", url2048],
    ["api.example", `${url2048}x`],
  ),
  ...field(
    "tenantAuth.registry",
    (v) => auths({ registry: v }),
    [null],
    [{}, { component: "x" }, { publicUrl: "https://r.example" }],
  ),
  ok("a registry of a component alone", registry({})),
  no("an unknown field in the registry", registry({ url: "x" })),
  ...field(
    "tenantAuth.registry.publicUrl",
    (v) => registry({ publicUrl: v }),
    ["https://{tenant}.r.example"],
    ["r.example", `${url2048}x`],
  ),
  ...field("tenantAuth.registry.limits", (v) => registry({ limits: v }), [{}], [{ maxBody: 1 }, 1]),
  ...["maxBodyBytes", "maxConcurrent", "uploadIdleTimeoutMs", "upstreamTimeoutMs"].flatMap((key) =>
    field(
      `tenantAuth.registry.limits.${key}`,
      (v) => registry({ limits: { [key]: v } }),
      [1, 2 ** 31, 2 ** 53 - 1],
      [0, -1, 1.5, "1"],
    ),
  ),
]
