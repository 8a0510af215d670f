// Updates: what may change and what may not, in pairs.
import {
  auths,
  type JsonObject,
  manifest,
  memberOf,
  minimal,
  names,
  oidc,
  platform,
  spec,
  together,
  type UpdateRow,
  undeclared,
} from "./rows.ts"

const rootMessage = "platform.storageRoot is immutable"
const same = (title: string, before: JsonObject, after: JsonObject): UpdateRow => ({
  title,
  before,
  after,
  valid: true,
})
const refused = (title: string, before: JsonObject, after: JsonObject, message: string): UpdateRow => ({
  title,
  before,
  after,
  valid: false,
  message,
})

const bare = manifest(minimal)
const emptyPlatform = platform({})
const emptyRoot = platform({ storageRoot: "" })
const rooted = platform({ storageRoot: "/data/one" })
const rootStates: ReadonlyArray<readonly [string, JsonObject]> = [
  ["no platform", bare],
  ["a platform without storageRoot", emptyPlatform],
  ["an empty storageRoot", emptyRoot],
]

export const updateRows: ReadonlyArray<UpdateRow> = [
  same("nothing changed", bare, bare),
  same("the version changed", bare, spec({ version: "6.0.23" })),
  same("a downgrade", bare, spec({ version: "6.0.21" })),
  same("the deletion policy changed", bare, spec({ deletionPolicy: "Retain" })),
  same(
    "the storage root kept while all else changes",
    rooted,
    platform({ storageRoot: "/data/one", tenants: names(2), gateway: { httpNodePort: 30080 } }),
  ),
  same("tenants removed", platform({ tenants: names(2) }), bare),
  same("the network policy engine changed", emptyPlatform, platform({ networkPolicyEngine: "kube-router" })),
  same("tenantAuth added", emptyPlatform, auths(oidc)),
  same("tenantAuth removed", auths(oidc), emptyPlatform),
  same("a tenant host image added", emptyPlatform, platform({ tenantHostImage: "w:2" })),
  ...rootStates.flatMap(([from, before]) =>
    rootStates.map(([to, after]) => same(`from ${from} to ${to}`, before, after)),
  ),
  ...rootStates.flatMap(([state, other]) => [
    refused(`storageRoot set later, from ${state}`, other, rooted, rootMessage),
    refused(`storageRoot removed later, to ${state}`, rooted, other, rootMessage),
  ]),
  refused("storageRoot changed", rooted, platform({ storageRoot: "/data/two" }), rootMessage),
  refused("storageRoot written another way", rooted, platform({ storageRoot: "/data/one/" }), rootMessage),
  // The server stops at the enum before it comes to its rules; crd.test.ts makes the rule speak with a wider enum.
  { title: "target.type changed", before: bare, after: spec({ target: { type: "kubesolo" } }), valid: false },
  { title: "target removed", before: bare, after: manifest({ version: "6.0.22" }), valid: false },
  {
    title: "an update that breaks another rule",
    before: bare,
    after: spec({ version: "latest" }),
    valid: false,
  },
  refused(
    "tenantAuth's issuer removed alone",
    auths(oidc),
    auths({ clientId: "console", clientSecretRef: { name: "n", key: "k" } }),
    together,
  ),
  refused(
    "a tenant removed that a user is in",
    platform({ tenants: names(1), users: [{ name: "dev", memberships: memberOf("t0") }] }),
    platform({ users: [{ name: "dev", memberships: memberOf("t0") }] }),
    undeclared,
  ),
]
