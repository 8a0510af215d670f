// The spans that are exported and their attributes as tables.
import {
  type AttributeRow,
  attributeTable,
  type SpanRow,
  spanTable,
} from "../../src/services/Telemetry/TraceTable.ts"
import { code, table } from "./Markdown.ts"

const rows: Readonly<Record<string, SpanRow>> = spanTable

const marks = ({ root, client, detail }: SpanRow): string =>
  [root && "first of a trace", client && "client", detail && "not in a repair"].filter(Boolean).join(", ")

export const traceSpanTable = (): string =>
  table(
    ["Span", "What it is", ""],
    Object.entries(rows).map(([name, row]) => [code(name), row.what, marks(row)]),
  )

const attributes: Readonly<Record<string, AttributeRow>> = attributeTable

export const traceAttributeTable = (): string =>
  table(
    ["Attribute", "What it is", "Unit"],
    Object.entries(attributes).map(([name, { what, unit }]) => [code(name), what, unit ?? ""]),
  )
