// `status`, written through the subresource.
import { field, type Json, type JsonObject, repeat, type StatusRow } from "./rows.ts"

const condition: JsonObject = {
  type: "Ready",
  status: "True",
  reason: "Ready",
  message: "",
  lastTransitionTime: "2026-11-03T10:00:00Z",
}
const statusField = (
  name: string,
  make: (value: Json) => JsonObject,
  valid: ReadonlyArray<Json>,
  invalid: ReadonlyArray<Json>,
): ReadonlyArray<StatusRow> =>
  field(name, make, valid, invalid).map(({ title, manifest, valid }) => ({ title, status: manifest, valid }))
const conditionField = (name: string, valid: ReadonlyArray<Json>, invalid: ReadonlyArray<Json>) =>
  statusField(
    `status.conditions[].${name}`,
    (v) => ({ conditions: [{ ...condition, [name]: v }] }),
    valid,
    invalid,
  )

export const statusRows: ReadonlyArray<StatusRow> = [
  { title: "an empty status", status: {}, valid: true },
  { title: "an unknown field in status", status: { fase: "Ready" }, valid: false },
  ...statusField(
    "status.phase",
    (v) => ({ phase: v }),
    ["Pending", "Provisioning", "Installing", "Ready", "Failed", "Deleting", null],
    ["", "ready", "Unknown", 1],
  ),
  ...statusField(
    "status.observedGeneration",
    (v) => ({ observedGeneration: v }),
    [0, 1, 2 ** 53 - 1],
    ["1", 1.5],
  ),
  ...statusField("status.installedVersion", (v) => ({ installedVersion: v }), ["", "6.0.22"], [6]),
  ...statusField(
    "status.endpoints",
    (v) => ({ endpoints: v }),
    [{}, { http: "x", kubernetes: "y" }],
    [{ https: "x" }, { http: 1 }],
  ),
  ...statusField(
    "status.kubeconfigSecretRef",
    (v) => ({ kubeconfigSecretRef: v }),
    [{ name: "one-kubeconfig" }],
    [{}, { name: 1 }, { name: "n", key: "k" }],
  ),
  ...statusField(
    "status.applied",
    (v) => ({ applied: v }),
    [
      { generation: 1, tenants: 0, users: 0 },
      { generation: 2 ** 60, tenants: 2 ** 31, users: -(2 ** 31) - 1 },
      { generation: 1, tenants: 32, users: 128, tenantAuthIssuer: "", tenantHostImage: "w" },
    ],
    [
      {},
      { generation: 1, tenants: 0 },
      { generation: 1, users: 0 },
      { tenants: 0, users: 0 },
      { generation: 1, tenants: 1.5, users: 0 },
      { generation: 1, tenants: 0, users: 0, issuer: "x" },
    ],
  ),
  ...statusField(
    "status.lastRepair",
    (v) => ({ lastRepair: v }),
    ["2026-11-03T10:00:00Z", "2026-11-03T10:00:00.5+02:00", "2024-02-29t23:59:59z"],
    [
      "yesterday",
      "",
      1,
      "2026-11-03",
      "2026-11-03T10:00:00",
      "2026-02-30T10:00:00Z",
      "2026-11-03T24:00:00Z",
      "2026-11-03T10:00:60Z",
    ],
  ),
  ...statusField(
    "status.target",
    (v) => ({ target: v }),
    [{}, { serviceUID: "a", resyncServiceUID: "b", resyncStarted: "2026-11-03T10:00:00Z" }],
    [{ uid: "a" }, { resyncStarted: "x" }],
  ),
  ...statusField(
    "status.conditions",
    (v) => ({ conditions: v }),
    [[], [condition]],
    [{}, [condition, condition], [{}], [{ ...condition, since: "x" }]],
  ),
  ...conditionField("type", ["a", "example.com/Ready"], ["", "a b", "/x"]),
  ...conditionField("status", ["False", "Unknown"], ["true", "", true]),
  ...conditionField("reason", ["A", "A_b:c", repeat("a", 1024)], ["", "1a", "a b", "a:", repeat("a", 1025)]),
  ...conditionField("message", ["", repeat("😀", 32768)], [null, repeat("a", 32769), 1]),
  ...conditionField("lastTransitionTime", ["2026-11-03T10:00:00Z"], [null, "x"]),
  ...conditionField("observedGeneration", [0, 7], [-1, "1"]),
]
