// `spec.platform.tenants` and `users`, up to the largest lists there can be.
import {
  field,
  integerBounds,
  type ManifestRow,
  memberOf,
  names,
  no,
  ok,
  people,
  platform,
  repeat,
  tenant,
  undeclared,
  user,
} from "./rows.ts"

export const tenantRows: ReadonlyArray<ManifestRow> = [
  ...field(
    "tenants",
    (v) => platform({ tenants: v }),
    [[], names(1), names(32), null],
    [names(33), {}, "acme", [null], ["acme"], [{}]],
  ),
  no(
    "tenants with the same name twice",
    platform({ tenants: [{ name: "acme" }, { name: "other" }, { name: "acme" }] }),
  ),
  no("an unknown field in a tenant", tenant({ nmae: "x" })),
  ...field(
    "tenants[].name",
    (v) => tenant({ name: v }),
    ["a", "a1", "a-b-c", "a1-2b", repeat("a", 40)],
    ["", "1a", "-a", "a-", "a--b", "A", "a.b", "a_b", "ä", "a\n", repeat("a", 41), 1, null],
  ),
  ...field("tenants[].suspended", (v) => tenant({ suspended: v }), [true, false, null], ["true", 0]),
  ...field(
    "tenants[].deletionPolicy",
    (v) => tenant({ deletionPolicy: v }),
    ["Retain", "Delete"],
    ["", "Orphan"],
  ),
  ...field("tenants[].runtime", (v) => tenant({ runtime: v }), [{}, null], [{ cores: 1 }, []]),
  ...integerBounds("tenants[].runtime.replicas", (v) => tenant({ runtime: { replicas: v } }), 1, 10),
  ...integerBounds(
    "tenants[].runtime.coreInstances",
    (v) => tenant({ runtime: { coreInstances: v } }),
    1,
    10000,
  ),
  ...field("tenants[].resources", (v) => tenant({ resources: v }), [{}], [{ disk: "1Gi" }, "1"]),
  ...field(
    "tenants[].resources.cpu",
    (v) => tenant({ resources: { cpu: v } }),
    ["0", "500m", "1.5", "1.5Gi", "007", repeat("1", 32)],
    ["", "1.", ".5", "-1", "1k", "1 m", "1e3", "1G", "1.5.5", "1x5", "١", repeat("1", 33), 1],
  ),
  ...field(
    "tenants[].resources.memory",
    (v) => tenant({ resources: { memory: v } }),
    ["512Mi", "1Ti", "64Ki"],
    ["512MB", "", `${repeat("9", 31)}Mi`],
  ),
  ...integerBounds("tenants[].resources.workloads", (v) => tenant({ resources: { workloads: v } }), 1, 1000),
  ...integerBounds(
    "tenants[].resources.backingServices",
    (v) => tenant({ resources: { backingServices: v } }),
    1,
    100,
  ),
  ...integerBounds(
    "tenants[].resources.serviceBindings",
    (v) => tenant({ resources: { serviceBindings: v } }),
    1,
    400,
  ),
  ...integerBounds("tenants[].resources.apiKeys", (v) => tenant({ resources: { apiKeys: v } }), 1, 10000),
]

export const userRows: ReadonlyArray<ManifestRow> = [
  ...field(
    "users",
    (v) => platform({ users: v }),
    [[], people(1), people(128), null],
    [people(129), {}, [{ name: "dev" }]],
  ),
  no("users with the same name twice", platform({ users: [...people(2), ...people(1)] })),
  no("an unknown field in a user", user({ role: "viewer" })),
  ...field(
    "users[].name",
    (v) => user({ name: v }),
    ["d", repeat("d", 40)],
    ["", "Dev", "d--v", repeat("d", 41)],
  ),
  ...field("users[].suspended", (v) => user({ suspended: v }), [true], ["no"]),
  ...field(
    "users[].memberships",
    (v) => user({ memberships: v }),
    [[], memberOf("acme")],
    [null, {}, [{ tenant: "acme" }], [{ role: "viewer" }], memberOf("acme", "acme")],
  ),
  ok(
    "16 memberships",
    platform({
      tenants: names(32),
      users: [{ name: "dev", memberships: memberOf(...names(16).map((t) => t.name)) }],
    }),
  ),
  no(
    "17 memberships",
    platform({
      tenants: names(32),
      users: [{ name: "dev", memberships: memberOf(...names(17).map((t) => t.name)) }],
    }),
  ),
  ...field(
    "users[].memberships[].role",
    (v) => user({ memberships: [{ tenant: "acme", role: v }] }),
    ["developer", "viewer"],
    ["", "admin", null],
  ),
  no(
    "an unknown field in a membership",
    user({ memberships: [{ tenant: "acme", role: "viewer", since: "x" }] }),
  ),
  no("a membership in a tenant that is not declared", user({ memberships: memberOf("other") }), undeclared),
  no("a membership in a tenant that differs in case", user({ memberships: memberOf("Acme") }), undeclared),
  no("a membership in no tenant", user({ memberships: memberOf("") }), undeclared),
  no(
    "a membership where no tenants are given",
    platform({ users: [{ name: "dev", memberships: memberOf("acme") }] }),
    undeclared,
  ),
  no(
    "a membership where tenants are empty",
    platform({ tenants: [], users: [{ name: "dev", memberships: memberOf("acme") }] }),
    undeclared,
  ),
  no(
    "the second user's second membership is not declared",
    platform({
      tenants: names(2),
      users: [
        { name: "a", memberships: memberOf("t0", "t1") },
        { name: "b", memberships: memberOf("t1", "t2") },
      ],
    }),
    undeclared,
  ),
  no("a membership's tenant of 41 characters", user({ memberships: memberOf(repeat("a", 41)) })),
  ok(
    "the largest lists, each membership at the far end",
    platform({
      tenants: Array.from({ length: 32 }, (_, i) => ({ name: `${repeat("a", 37)}-${10 + i}` })),
      users: Array.from({ length: 128 }, (_, i) => ({
        name: `u${i}`,
        memberships: memberOf(...Array.from({ length: 16 }, (_, j) => `${repeat("a", 37)}-${26 + j}`)),
      })),
    }),
  ),
]
