// REST over real HTTPS, by whoever a token or a client certificate says one is.
import { Agent, request as httpsRequest } from "node:https"
import { Effect } from "effect"
import type { Answer, Rest } from "./Rest.ts"

export interface Credentials {
  readonly token?: string
  readonly cert?: Buffer
  readonly key?: Buffer
}

/** What goes wrong below HTTP is status 0. The server's certificate is not looked at. */
export const httpsRest = (server: string, { token, cert, key }: Credentials): Rest => {
  const agent = new Agent({
    rejectUnauthorized: false,
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  })
  return {
    request: (method, target, body) =>
      Effect.callback<Answer>((resume) => {
        const headers = {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
          accept: "application/json",
        }
        const fail = (error: Error) => resume(Effect.succeed({ status: 0, body: error.message }))
        const sent = httpsRequest(`${server}${target}`, { method, headers, agent }, (answer) => {
          let text = ""
          answer.on("data", (chunk) => {
            text += chunk
          })
          answer.on("error", fail)
          answer.on("end", () => {
            const parsed: unknown = text.startsWith("{") ? JSON.parse(text) : text
            resume(Effect.succeed({ status: answer.statusCode ?? 0, body: parsed }))
          })
        })
        sent.on("error", fail)
        sent.end(body === undefined ? undefined : JSON.stringify(body))
      }),
  }
}
