// The stack config, made equal to the request: what differs is set, what the request lacks is removed, and
// the result is read back and compared. Plain values go through the Automation API; secret ones never do,
// because it puts them on the command line of a child (read in its source): the CLI takes them from stdin.
import { existsSync } from "node:fs"
import { join } from "node:path"
import type { ConfigMap, Stack } from "@pulumi/pulumi/automation/index.js"
import type { RunRequest } from "../Protocol.ts"
import { pulumi } from "./Cli.ts"

const setSecret = (request: RunRequest, key: string, value: string): Promise<string> =>
  // The CLI takes one newline off the end of what it reads (seen: 3.274.1): with one more, the value arrives as it is.
  pulumi(request, ["config", "set", "--secret", key], `${value}\n`)

interface Difference {
  readonly plain: ReadonlyArray<string>
  readonly secret: ReadonlyArray<string>
  readonly surplus: ReadonlyArray<string>
}

const compare = (found: ConfigMap, request: RunRequest): Difference => {
  const differs = (key: string, value: string, secret: boolean) => {
    const there = found[`${request.project}:${key}`]
    return there === undefined || there.value !== value || (there.secret ?? false) !== secret
  }
  const wanted = new Set(
    [...Object.keys(request.config), ...Object.keys(request.secretConfig)].map(
      (key) => `${request.project}:${key}`,
    ),
  )
  return {
    plain: Object.entries(request.config).flatMap(([key, value]) =>
      differs(key, value, false) ? [key] : [],
    ),
    secret: Object.entries(request.secretConfig).flatMap(([key, value]) =>
      differs(key, value, true) ? [key] : [],
    ),
    surplus: Object.keys(found).filter((key) => !wanted.has(key)),
  }
}

const isEqual = (difference: Difference): boolean =>
  difference.plain.length + difference.secret.length + difference.surplus.length === 0

/** What is set by now. A stack that was just made has no config, which its file says without a run of the CLI. */
const currentConfig = async (stack: Stack, request: RunRequest): Promise<ConfigMap> => {
  const file = join(request.projectDirectory, `Pulumi.${request.stack}.yaml`)
  const { config } = existsSync(file) ? await stack.workspace.stackSettings(request.stack) : {}
  return config === undefined ? {} : await stack.getAllConfig()
}

export const setConfig = async (stack: Stack, request: RunRequest): Promise<void> => {
  const before = compare(await currentConfig(stack, request), request)
  if (isEqual(before)) return
  if (before.surplus.length > 0) await stack.removeAllConfig([...before.surplus])
  if (before.plain.length > 0) {
    await stack.setAllConfig(
      Object.fromEntries(
        before.plain.map((key) => [`${request.project}:${key}`, { value: request.config[key] ?? "" }]),
      ),
    )
  }
  for (const key of before.secret) {
    await setSecret(request, `${request.project}:${key}`, request.secretConfig[key] ?? "")
  }
  const after = compare(await stack.getAllConfig(), request)
  if (!isEqual(after)) {
    const keys = [...after.plain, ...after.secret, ...after.surplus].join(", ")
    throw new Error(`the stack config differs from what was set: ${keys}`)
  }
}
