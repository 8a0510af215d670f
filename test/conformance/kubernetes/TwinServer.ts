// The twin as a target.
import { Effect } from "effect"
import type { ApiServer } from "../../twins/kubernetes/ApiServer.ts"
import type { Raw, Server } from "./Target.ts"

const request = ({ user = "admin", ...raw }: Raw) => ({ user, ...raw })

export const twinServer = (api: ApiServer): Server => ({
  send: (raw) =>
    Effect.sync(() => {
      const { status, body, warnings = [] } = api.handle(request(raw))
      return { status, body, warnings }
    }),
  watch: (raw) =>
    Effect.sync(() => {
      const lines: Array<unknown> = []
      const opened = api.watch(request(raw), {
        onEvent: (line) => lines.push(line),
        onEnd: () => undefined,
      })
      if (!("close" in opened)) return [opened.body]
      opened.close()
      return lines
    }),
})
