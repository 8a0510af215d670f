// What leads into a pod. In a simulated cluster no container runs, so that nothing does, but for one thing: the operator is
// real, and its log is that of its pod.
import type { ServerResponse } from "node:http"
import type { ApiAnswer, ApiRequest, ApiServer } from "../../test/twins/kubernetes/ApiServer.ts"
import { at } from "../../test/twins/kubernetes/Json.ts"
import { forbidden, reasonless } from "../../test/twins/kubernetes/Status.ts"

export interface LogLine {
  /** In the simulated world. */
  readonly time: Date
  readonly text: string
}

/** The logs of the operator's pods; of each the newest lines are kept. */
export interface PodLogs {
  readonly add: (pod: string, line: LogLine) => void
  /** None of a pod that is not the operator's. */
  readonly of: (pod: string) => ReadonlyArray<LogLine> | undefined
  /** Calls with each line from now on. Gives what ends it. */
  readonly follow: (pod: string, listener: (line: LogLine) => void) => () => void
}

const KEPT = 10_000

export const makePodLogs = (): PodLogs => {
  const logs = new Map<string, { lines: Array<LogLine>; listeners: Set<(line: LogLine) => void> }>()
  const logOf = (pod: string) => {
    const found = logs.get(pod) ?? { lines: [], listeners: new Set() }
    logs.set(pod, found)
    return found
  }
  return {
    add: (pod, line) => {
      const { lines, listeners } = logOf(pod)
      lines.push(line)
      if (lines.length > 2 * KEPT) lines.splice(0, KEPT)
      for (const listener of [...listeners]) listener(line)
    },
    of: (pod) => logs.get(pod)?.lines.slice(-KEPT),
    follow: (pod, listener) => {
      const { listeners } = logOf(pod)
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

const INTO =
  /^\/api\/v1\/namespaces\/(?<namespace>[^/]+)\/(?<kind>pods|services)\/(?<name>[^/]+)\/(?<what>log|exec|attach|portforward|proxy)(?:\/|$)/

interface Into {
  readonly namespace: string
  readonly kind: string
  readonly name: string
  readonly what: string
  readonly query: URLSearchParams
}

const intoOf = ({ path }: ApiRequest): Into | undefined => {
  const [place = "", query = ""] = path.split("?")
  const { kind, name, namespace, what } = INTO.exec(decodeURIComponent(place))?.groups ?? {}
  if (kind === undefined || name === undefined || namespace === undefined || what === undefined)
    return undefined
  return { kind, name, namespace, what, query: new URLSearchParams(query) }
}

export interface PodLogOptions {
  readonly handle: (request: ApiRequest) => ApiAnswer
  /** Tells what becomes of a pod. */
  readonly subscribe: ApiServer["subscribe"]
  readonly logs: PodLogs
  /** In the simulated world, as logs have it. */
  readonly now: () => Date
}

const refuseWithoutRight = ({ handle }: PodLogOptions, request: ApiRequest, into: Into): void => {
  const verb = request.method === "GET" ? "get" : "create"
  const { body } = handle({
    user: request.user,
    ...(request.groups !== undefined && { groups: request.groups }),
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    body: {
      kind: "SelfSubjectAccessReview",
      apiVersion: "authorization.k8s.io/v1",
      spec: {
        resourceAttributes: {
          verb,
          version: "v1",
          resource: into.kind,
          subresource: into.what,
          namespace: into.namespace,
          name: into.name,
        },
      },
    },
  })
  if (at(body, "status", "allowed") === true) return
  throw forbidden(
    { name: into.name, kind: into.kind },
    `User ${JSON.stringify(request.user)} cannot ${verb} resource "${into.kind}/${into.what}" in API group "" in the namespace ${JSON.stringify(into.namespace)}`,
  )
}

const impossible: Readonly<Record<string, string>> = {
  log: "no container runs, and it has no log",
  exec: "no container runs, and nothing can be run in it",
  attach: "no container runs that one could attach to",
  portforward: "no container runs, and no port leads into it",
  proxy: "no container runs, and no port leads into it",
}

const oneOf = (kind: string, name: string) => `${kind === "pods" ? "pod" : "service"} ${name}`

/** The lines that are asked for of those that there are. */
const selected = (
  lines: ReadonlyArray<LogLine>,
  query: URLSearchParams,
  now: Date,
): ReadonlyArray<LogLine> => {
  const seconds = query.get("sinceSeconds")
  const since =
    seconds === null ? Date.parse(query.get("sinceTime") ?? "") : now.getTime() - Number(seconds) * 1000
  const tail = query.get("tailLines")
  const young = Number.isNaN(since) ? lines : lines.filter(({ time }) => time.getTime() >= since)
  return tail === null ? young : young.slice(Math.max(0, young.length - Number(tail)))
}

/** Answers what leads into a pod; false of any other request. Throws an `ApiStatus`. */
export const answerInto = (
  options: PodLogOptions,
  request: ApiRequest,
  response: ServerResponse,
): boolean => {
  const into = intoOf(request)
  if (into === undefined) return false
  refuseWithoutRight(options, request, into)
  const { kind, name, namespace, query, what } = into
  const found = options.handle({
    ...request,
    method: "GET",
    path: `/api/v1/namespaces/${namespace}/${kind}/${name}`,
    accept: "application/json",
  })
  const lines = what === "log" && found.status === 200 ? options.logs.of(name) : undefined
  if (found.status === 200 && lines === undefined)
    throw reasonless(
      `this cluster is simulated: in ${oneOf(kind, name)} ${impossible[what]}. The operator's own log is there (kubectl -n platform-operator logs -l app.kubernetes.io/name=platform-operator), and make run CLUSTER=local has a cluster whose containers run`,
    )
  if (lines === undefined) {
    response.writeHead(found.status, { "content-type": "application/json" })
    response.end(JSON.stringify(found.body))
    return true
  }
  const shown = ({ text, time }: LogLine) =>
    query.get("timestamps") === "true" ? `${time.toISOString()} ${text}\n` : `${text}\n`
  response.writeHead(200, { "content-type": "text/plain" })
  for (const line of selected(lines, query, options.now())) response.write(shown(line))
  if (query.get("follow") !== "true") {
    response.end()
    return true
  }
  response.flushHeaders()
  const stop = options.logs.follow(name, (line) => response.write(shown(line)))
  const uid = at(found.body, "metadata", "uid")
  // It ends with its pod.
  const unsubscribe = options.subscribe(({ type, object }) => {
    if (type === "DELETED" && object.metadata.uid === uid) response.end()
  })
  response.on("close", () => {
    unsubscribe()
    stop()
  })
  return true
}
