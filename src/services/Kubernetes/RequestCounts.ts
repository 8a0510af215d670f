// Counts requests to API servers as client-go does. Instances' own servers are one host: their names would be series that
// nobody takes away.
import { Effect } from "effect"
import { increment } from "../Metrics/Metrics.ts"
import type { ApiFailure } from "./ApiFailure.ts"

/** The host that stands for the API servers inside of instances. */
export const INSIDE = "vcluster"

/** A code of 0 is a request that had no answer. */
export const countRequest = (method: string, host: string, code: number): Effect.Effect<void> =>
  increment("rest_client_requests_total", { method, host, code: code === 0 ? "<error>" : String(code) })

/** Counts one attempt. */
export const counted =
  (method: string, host: () => string) =>
  <A extends { readonly code: number }, R>(
    attempt: Effect.Effect<A, ApiFailure, R>,
  ): Effect.Effect<A, ApiFailure, R> =>
    attempt.pipe(
      Effect.tap(({ code }) => countRequest(method, host(), code)),
      Effect.tapError(({ error }) => countRequest(method, host(), error.code)),
    )
