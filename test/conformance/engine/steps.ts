// What the steps of the scripts are made of.
import { Effect, FileSystem } from "effect"
import type { KubeError } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { sessionProcesses } from "../../../src/services/Process/Session.ts"
import { locksDirectory, stackName, stateFile } from "../../../src/services/Pulumi/Layout.ts"
import type { Observation, Step } from "../Scenario.ts"
import { type EngineSide, pathsOf, type RunOptions, run, type Services, start, stateOf } from "./Side.ts"
import { collecting, objectsOf, revisionsOf } from "./Target.ts"

export const digest = `sha256:${"a".repeat(64)}`
export const auth: RunOptions = {
  config: {
    tenantAuth: JSON.stringify({
      image: `auth@${digest}`,
      issuer: "https://id",
      oauthClient: { id: "console", secretName: "platform-operator-tenant-auth" },
    }),
  },
  secretConfig: { tenantAuthClientSecret: "planted-client-secret" },
}
export const withConfig = (config: Readonly<Record<string, string>>): RunOptions => ({ config })
export const tenants = (...names: ReadonlyArray<string>) => ({
  tenants: JSON.stringify(names.map((name) => ({ name }))),
})
/** Pods are awaited; what Helm waits for, not for long: a cancelled upgrade is rolled back, and that waits once more. */
export const awaited = withConfig({ fixtureSkipAwait: "false", timeoutSeconds: "20" })

/** A run, and what the world is like after it. */
export const after = (options: RunOptions = {}) =>
  Effect.fnUntraced(function* (side: EngineSide) {
    const found = yield* run(side, options)
    return {
      found,
      state: yield* stateOf(side),
      objects: yield* objectsOf(side),
      revisions: yield* revisionsOf(side),
    }
  })

/** A run, and its last word alone. */
export const only =
  (options: RunOptions = {}) =>
  (side: EngineSide) =>
    run(side, options)

export const step = <A, E>(
  name: string,
  work: (side: EngineSide) => Effect.Effect<A, E, Services>,
): Step<EngineSide> => ({
  name,
  run: (side): Effect.Effect<Observation, unknown> =>
    collecting(side, work(side)).pipe(Effect.provideContext(side.services)),
})

export const stackFile = (side: EngineSide) => `${pathsOf(side).project}/Pulumi.${stackName}.yaml`
export const packed = (side: EngineSide) => `${stateFile(pathsOf(side))}.json.gz`

/** Cuts a run off a moment after the target has come so far; how many processes are left, and after the session's end. */
export const cutOff = Effect.fnUntraced(function* (
  side: EngineSide,
  options: RunOptions,
  until: Effect.Effect<void, KubeError>,
  how: (pid: number) => Effect.Effect<void, never, Services>,
) {
  const running = yield* start(side, options)
  yield* until
  yield* Effect.sleep("3 seconds")
  yield* how(running.pid)
  yield* running.ended
  const left = (yield* sessionProcesses(running.pid)).length
  yield* running.close
  return { left: left > 0, after: (yield* sessionProcesses(running.pid)).length }
})

/** Until the release is being upgraded. */
export const upgrading = Effect.fnUntraced(function* (side: EngineSide) {
  while (!(yield* revisionsOf(side)).some((one) => one.includes("pending-upgrade"))) {
    yield* Effect.sleep("100 millis")
  }
})

export const unlock = Effect.fnUntraced(function* (side: EngineSide) {
  const fs = yield* FileSystem.FileSystem
  const folder = locksDirectory(pathsOf(side))
  for (const name of yield* fs.readDirectory(folder)) yield* fs.remove(`${folder}/${name}`)
})

export const plain: RunOptions = {
  ...auth,
  config: { ...auth.config, ...tenants("acme", "beta"), values: '{"replicas":2}' },
}
