// What can go wrong between an API server and its clients over HTTP. Verbs about the world; each client's own
// answers follow from them. In-process clients (`ApiServer.as`) stand beside the network and see none of it.
import type { ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { collectionPath } from "../../../src/services/Kubernetes/Paths.ts"
import type { Store } from "./Store.ts"
import type { Watches } from "./Watch.ts"

/** Which requests a fault meets: all of which every given field is true. */
export interface Meets {
  readonly method?: string
  readonly kind?: ResourceKind
  /** Part of the path. */
  readonly path?: string
  readonly user?: string
}

export type Code = 401 | 403 | 404 | 409 | 410 | 422 | 429 | 500 | 503

/** What meets a request on its way. */
export type Trouble =
  | { readonly _tag: "Answer"; readonly code: Code; readonly retryAfter: number | undefined }
  | { readonly _tag: "Reset"; readonly when: "before" | "after" }
  /** It never gets there, and nobody says so. */
  | { readonly _tag: "Hang" }
  /** It has its effect at once, and the answer comes so much later. */
  | { readonly _tag: "Late"; readonly millis: number }
  /** Somebody between sends it twice, and passes on the second answer. */
  | { readonly _tag: "Twice" }
  /** It has its effect, and the connection ends in the middle of the answer. */
  | { readonly _tag: "Half" }

export interface Passing {
  readonly method: string
  readonly path: string
  readonly user: string
}

export interface Faults {
  /** Connections are refused, and open watches reset. */
  readonly down: () => void
  readonly up: () => void
  readonly isDown: () => boolean
  /** Packets get lost: requests hang, watches say nothing, until `up`. */
  readonly hang: () => void
  readonly isHanging: () => boolean
  /** Each request takes so long, in milliseconds; 0 ends it. */
  readonly slow: (millis: number) => void
  readonly delay: () => number
  /** The next `times` requests (default 1) are answered with this code, and have no effect. */
  readonly answer: (code: Code, options?: Meets & { times?: number; retryAfter?: number }) => void
  /** This meets the next `times` requests (default 1). */
  readonly next: (trouble: Trouble, options?: Meets & { times?: number }) => void
  /** The connection of the next `times` requests (default 1) breaks before or after the request had its effect. */
  readonly reset: (when: "before" | "after", options?: Meets & { times?: number }) => void
  /** Open watches say nothing more, not even bookmarks, and do not end. New ones are well. */
  readonly stallWatches: (kind?: ResourceKind) => void
  /** Watches tell changes in pairs, at the latest with a bookmark, and of two of one object the later alone. */
  readonly mergeEvents: (on: boolean) => void
  /** Open watches are closed by the server. */
  readonly cutWatches: (kind?: ResourceKind) => void
  /**
   * The watch cache of a kind (of all kinds) stays where it is: lists with `resourceVersion=0` and watches show nothing
   * newer. With a version, it is the cache of a server that is as far behind.
   */
  readonly freezeCache: (kind?: ResourceKind, version?: string) => void
  readonly thawCache: (kind?: ResourceKind) => void
  /** Tokens handed out before are refused with 401 until the client reads its token again. */
  readonly rotateTokens: () => void
  /** Counts the rotations: a client's token is of one of them. */
  readonly tokenEpoch: () => number
  /** Forgets history up to a version (default: all of it): watches and continue tokens from before are 410. */
  readonly compact: (version?: string) => void
  /** For transports: what meets this request. */
  readonly meet: (request: Passing) => Trouble | undefined
  /** For transports: told when `down` resets connections, and when `up` lets hanging ones go on. */
  readonly onChange: (listener: () => void) => () => void
  /** Nothing is wrong: transports may take their short way. */
  readonly isQuiet: () => boolean
}

interface Planned {
  readonly meets: Meets
  readonly trouble: Trouble
  times: number
}

const matches = ({ method, kind, path, user }: Meets, request: Passing): boolean => {
  const bare = request.path.split("?")[0] ?? ""
  return (
    (method === undefined || method === request.method) &&
    (path === undefined || request.path.includes(path)) &&
    (user === undefined || user === request.user) &&
    (kind === undefined ||
      (bare.startsWith(kind.group === "" ? "/api/" : `/apis/${kind.group}/`) &&
        bare.includes(collectionPath(kind).split("/").at(-1) ?? "")))
  )
}

type Reachable = "up" | "down" | "hanging"

export const makeFaults = (store: Store, watches: Watches): Faults => {
  const planned: Array<Planned> = []
  const listeners = new Set<() => void>()
  let reachable: Reachable = "up"
  let delay = 0
  let epoch = 0
  const become = (next: Reachable) => {
    reachable = next
    for (const listener of [...listeners]) listener()
  }
  const plan = (meets: Meets, trouble: Trouble, times: number) => planned.push({ meets, trouble, times })
  const kindsOf = (kind: ResourceKind | undefined) => (kind === undefined ? store.kinds() : [kind])

  return {
    down: () => become("down"),
    up: () => become("up"),
    isDown: () => reachable === "down",
    hang: () => become("hanging"),
    isHanging: () => reachable === "hanging",
    slow: (millis) => {
      delay = millis
    },
    delay: () => delay,
    answer: (code, { times = 1, retryAfter, ...meets } = {}) => {
      plan(meets, { _tag: "Answer", code, retryAfter }, times)
    },
    next: (trouble, { times = 1, ...meets } = {}) => {
      plan(meets, trouble, times)
    },
    reset: (when, { times = 1, ...meets } = {}) => {
      plan(meets, { _tag: "Reset", when }, times)
    },
    stallWatches: (kind) => watches.stall(kind),
    mergeEvents: (on) => watches.merge(on),
    cutWatches: (kind) => watches.cut(kind),
    freezeCache: (kind, version) => {
      for (const each of kindsOf(kind))
        store.freeze(each, version === undefined ? undefined : Number(version))
    },
    thawCache: (kind) => {
      for (const each of kindsOf(kind)) store.thaw(each)
    },
    rotateTokens: () => {
      epoch += 1
    },
    tokenEpoch: () => epoch,
    compact: (version) => store.compact(version === undefined ? store.version : Number(version)),
    meet: (request) => {
      const index = planned.findIndex(({ meets }) => matches(meets, request))
      const found = planned[index]
      if (found === undefined) return undefined
      found.times -= 1
      if (found.times <= 0) planned.splice(index, 1)
      return found.trouble
    },
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    isQuiet: () => reachable === "up" && delay === 0 && planned.length === 0,
  }
}
