// Manifests and updates on both sides of every rule of the CRD. The decoder is held to this table by
// crd-table.test.ts, the real API server by test/e2e/crd.test.ts: both must agree on every row.
import type { ManifestRow } from "./rows.ts"
import { platformRows, rootRows, specRows } from "./specRows.ts"
import { tenantRows, userRows } from "./tenancyRows.ts"
import { authRows } from "./tenantAuthRows.ts"

export type { JsonObject, Verdict } from "./rows.ts"
export { statusRows } from "./statusRows.ts"
export { updateRows } from "./updateRows.ts"

export const manifestRows: ReadonlyArray<ManifestRow> = [
  ...rootRows,
  ...specRows,
  ...platformRows,
  ...tenantRows,
  ...userRows,
  ...authRows,
]
