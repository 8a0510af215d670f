// A real API server as a target: administrators by a token, everybody else by impersonation.
import * as Undici from "@effect/platform-node/Undici"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect } from "effect"
import type { Raw, Server } from "./Target.ts"

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** `kubeconfig` names the server and an administrator's token. */
export const realServer = (kubeconfig: string): Effect.Effect<Server> =>
  Effect.sync(() => {
    const config = new KubeConfig()
    config.loadFromString(kubeconfig)
    const server = config.getCurrentCluster()?.server ?? ""
    const token = config.getCurrentUser()?.token ?? ""
    const dispatcher = new Undici.Agent({ connect: { rejectUnauthorized: false } })
    const text = ({ user, method, path, accept, contentType, body }: Raw) =>
      Effect.tryPromise(async () => {
        const answer = await Undici.request(`${server}${path}`, {
          dispatcher,
          method,
          headers: {
            authorization: `Bearer ${token}`,
            accept: accept ?? "application/json",
            "user-agent": "unknown",
            ...(body !== undefined && { "content-type": contentType ?? "application/json" }),
            ...(user !== undefined && { "impersonate-user": user }),
          },
          body: body === undefined ? null : JSON.stringify(body),
        })
        const warnings = [
          ...[answer.headers.warning ?? []]
            .flat()
            .join()
            .matchAll(/299 - ("(?:[^"\\]|\\.)*")/g),
        ]
        return {
          status: answer.statusCode,
          text: await answer.body.text(),
          warnings: warnings.map(([, text = ""]) => String(JSON.parse(text))),
        }
      })
    return {
      send: (raw) =>
        Effect.map(text(raw), ({ status, text, warnings }) => ({ status, body: parse(text), warnings })),
      watch: (raw) =>
        Effect.map(text({ ...raw, path: `${raw.path}&timeoutSeconds=1` }), (answer) =>
          answer.text
            .split("\n")
            .filter((line) => line !== "")
            .map(parse),
        ),
    }
  })
