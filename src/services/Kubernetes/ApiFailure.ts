// A request that did not succeed, with what only the machinery of this folder needs to know about it.
import { Data, Duration, Option } from "effect"
import { truncateAtWord } from "../../schema/Text.ts"
import { KubeError } from "./Kubernetes.ts"
import type { Status } from "./Objects.ts"

export class ApiFailure extends Data.TaggedError("ApiFailure")<{
  /** What callers of the service see. */
  readonly error: KubeError
  /** How long the server asks to be left alone. */
  readonly retryAfter: Option.Option<Duration.Duration>
  /** The server is behind the version that was asked for (`ResourceVersionTooLarge`). */
  readonly ahead: boolean
  /** The fields that the server objects to, such as `metadata.uid`. */
  readonly fields: ReadonlyArray<string>
}> {
  override get message(): string {
    return this.error.message
  }

  /** The version or continue token that was asked for is no longer kept. */
  get expired(): boolean {
    return this.error.code === 410 || this.error.reason === "Expired" || this.error.reason === "Gone"
  }
}

/** Longest message kept of an answer, in characters. */
const MAX_MESSAGE = 1024

/** Reasons whose messages name objects and field managers only, never values. */
const HARMLESS = new Set([
  "AlreadyExists",
  "Conflict",
  "Expired",
  "Forbidden",
  "Gone",
  "InternalError",
  "NotFound",
  "ServiceUnavailable",
  "Timeout",
  "TooManyRequests",
  "Unauthorized",
])

/** The reason the API gives these codes: for answers of proxies, which carry no `Status`. */
const REASONS: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  409: "Conflict",
  410: "Gone",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
}

export interface Refusal {
  /** What was asked (see `KubeError.request`). */
  readonly request: string
  readonly code: number
  readonly status: Status
  readonly retryAfter: Option.Option<Duration.Duration>
  /**
   * The request was about a Secret: the API quotes rejected values in its messages, so only the reason and the
   * names of the fields are kept.
   */
  readonly secret: boolean
}

export const refused = ({ request, code, status, retryAfter, secret }: Refusal): ApiFailure => {
  const reason = status.reason || REASONS[code] || "Unknown"
  const causes = status.details?.causes ?? []
  const fields = causes.flatMap((cause) => (cause.field === undefined ? [] : [cause.field]))
  const message =
    secret && !HARMLESS.has(reason)
      ? [reason, ...fields].join(" ")
      : truncateAtWord(status.message || `HTTP ${code}`, MAX_MESSAGE)
  return new ApiFailure({
    error: new KubeError({ code, reason, request, message, ...(fields.length > 0 && { fields }) }),
    retryAfter: Option.orElse(retryAfter, () =>
      Option.map(Option.fromNullishOr(status.details?.retryAfterSeconds), Duration.seconds),
    ),
    ahead:
      causes.some((cause) => cause.reason === "ResourceVersionTooLarge") ||
      (status.message ?? "").includes("Too large resource version"),
    fields,
  })
}

/** No answer came, or none that could be read. */
export const transportFailure = (request: string, message: string): ApiFailure =>
  new ApiFailure({
    error: new KubeError({ code: 0, reason: "Transport", request, message }),
    retryAfter: Option.none(),
    ahead: false,
    fields: [],
  })

/** The server answered something that is not what the API promises. The content is not repeated. */
export const unreadable = (request: string, code: number): ApiFailure =>
  new ApiFailure({
    error: new KubeError({
      code,
      reason: "Unreadable",
      request,
      message: "the answer is not what the Kubernetes API promises",
    }),
    retryAfter: Option.none(),
    ahead: false,
    fields: [],
  })
