// Events as they are listed: of core/v1 or events.k8s.io/v1, which fill in different fields.
import { isObject, type Json, valueAt } from "./schema.ts"

export interface EventView {
  readonly key: string
  readonly type: string
  readonly reason: string
  readonly message: string
  readonly count: number
  /** RFC 3339, the last time it was seen. */
  readonly last: string | undefined
}

const text = (...values: ReadonlyArray<Json | undefined>): string | undefined =>
  values.find((value): value is string => typeof value === "string" && value !== "")

const viewOf = (event: Json, index: number): EventView => {
  const at = (...path: ReadonlyArray<string>) => valueAt(event, path)
  const counts = [at("series", "count"), at("count"), at("deprecatedCount")]
  return {
    key: text(at("metadata", "uid")) ?? String(index),
    type: text(at("type")) ?? "",
    reason: text(at("reason")) ?? "",
    message: text(at("message"), at("note")) ?? "",
    count: counts.find((count): count is number => typeof count === "number") ?? 1,
    last: text(
      at("series", "lastObservedTime"),
      at("lastTimestamp"),
      at("deprecatedLastTimestamp"),
      at("eventTime"),
      at("firstTimestamp"),
      at("metadata", "creationTimestamp"),
    ),
  }
}

/** The newest first. */
export const eventsOf = (events: ReadonlyArray<unknown>): ReadonlyArray<EventView> =>
  events
    .filter((event): event is Json => isObject(event))
    .map(viewOf)
    .sort((a, b) => Date.parse(b.last ?? "") - Date.parse(a.last ?? ""))
