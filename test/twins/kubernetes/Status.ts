// `Status` bodies: what the API server says when something is refused. Texts as kube-apiserver 1.35 words them.
import { ApiStatus } from "./ApiServer.ts"
import type { Json } from "./Json.ts"

export interface Cause {
  readonly reason?: string
  readonly message: string
  readonly field?: string
}

/** What a request was about, as `details` of a Status name it: `kind` is the plural, or the Kind for `Invalid`. */
export interface About {
  readonly name?: string | undefined
  readonly group?: string | undefined
  readonly kind?: string | undefined
  readonly uid?: string | undefined
  readonly causes?: ReadonlyArray<Cause> | undefined
  readonly retryAfterSeconds?: number | undefined
}

const details = (about: About): Json =>
  Object.fromEntries(
    Object.entries(about).filter(([, value]) => value !== undefined && value !== "" && value !== 0),
  )

const failure = (code: number, reason: string, message: string, about?: About): ApiStatus =>
  new ApiStatus(code, reason, message, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    ...(about !== undefined && { details: details(about) }),
    code,
  })

/** `configmaps`, or `jobs.batch`. */
export const qualified = ({ group, kind }: About): string =>
  group === undefined || group === "" ? (kind ?? "") : `${kind}.${group}`

export const badRequest = (message: string): ApiStatus => failure(400, "BadRequest", message)

export const unauthorized = (): ApiStatus => failure(401, "Unauthorized", "Unauthorized")

export const forbidden = (about: About, why: string, causes?: ReadonlyArray<Cause>): ApiStatus =>
  failure(
    403,
    "Forbidden",
    about.name === undefined || about.name === ""
      ? `${qualified(about)} is forbidden: ${why}`
      : `${qualified(about)} ${JSON.stringify(about.name)} is forbidden: ${why}`,
    { ...about, causes },
  )

export const forbiddenPath = (user: string, verb: string, path: string): ApiStatus =>
  failure(
    403,
    "Forbidden",
    `forbidden: User ${JSON.stringify(user)} cannot ${verb} path ${JSON.stringify(path)}`,
    {},
  )

export const notFound = (about: About): ApiStatus =>
  failure(404, "NotFound", `${qualified(about)} ${JSON.stringify(about.name)} not found`, about)

/** No such path: a kind that is not served, for one. */
export const noSuchResource = (): ApiStatus =>
  failure(404, "NotFound", "the server could not find the requested resource", {})

export const methodNotAllowed = (): ApiStatus =>
  failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})

export const alreadyExists = (about: About): ApiStatus =>
  failure(409, "AlreadyExists", `${qualified(about)} ${JSON.stringify(about.name)} already exists`, about)

export const conflict = (about: About, why: string): ApiStatus =>
  failure(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualified(about)} ${JSON.stringify(about.name)}: ${why}`,
    about,
  )

export const modified = (about: About): ApiStatus =>
  conflict(
    about,
    "the object has been modified; please apply your changes to the latest version and try again",
  )

/** A server-side apply that would change what others own. */
export const applyConflict = (message: string, causes: ReadonlyArray<Cause>): ApiStatus =>
  failure(409, "Conflict", message, { causes })

export const expired = (message: string): ApiStatus => failure(410, "Expired", message)

export const unsupportedMediaType = (message: string, about?: About): ApiStatus =>
  failure(415, "UnsupportedMediaType", message, about)

/** `about.kind` is the Kind here. */
export const invalid = (about: About, causes: ReadonlyArray<Cause>): ApiStatus => {
  const errors = [...new Set(causes.map(({ field, message }) => `${field}: ${message}`))]
  const list = errors.length === 1 ? errors[0] : `[${errors.join(", ")}]`
  return failure(
    422,
    "Invalid",
    `${qualified(about)} ${JSON.stringify(about.name ?? "")} is invalid: ${list}`,
    {
      ...about,
      causes,
    },
  )
}

/** A JSON patch that cannot be applied: neither path nor value is told. */
export const patchFailed = (): ApiStatus =>
  failure(422, "Invalid", "the server rejected our request due to an error in our request", {})

export const tooManyRequests = (retryAfterSeconds: number): ApiStatus =>
  failure(
    429,
    "TooManyRequests",
    "the server has received too many requests and has asked us to try again later",
    {
      retryAfterSeconds,
    },
  )

export const internalError = (message: string): ApiStatus =>
  failure(500, "InternalError", `Internal error occurred: ${message}`, {
    causes: [{ reason: "", message }],
  })

export const unavailable = (): ApiStatus =>
  failure(503, "ServiceUnavailable", "the server is currently unable to handle the request", {})

export const tooLargeVersion = (asked: number, current: number): ApiStatus =>
  failure(504, "Timeout", `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  })

/** What an admission policy denies: worded as forbidden, coded as invalid. */
export const admissionDenied = (about: About, message: string): ApiStatus =>
  failure(422, "Invalid", `${qualified(about)} ${JSON.stringify(about.name)} is forbidden: ${message}`, {
    ...about,
    causes: [{ message }],
  })

/** A failure that the server gives no reason for. */
export const reasonless = (message: string): ApiStatus =>
  new ApiStatus(500, "", message, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    code: 500,
  })

export const tooOldVersion = (asked: number, oldest: number): ApiStatus =>
  expired(`too old resource version: ${asked} (${oldest})`)
