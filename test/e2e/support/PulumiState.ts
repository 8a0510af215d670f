// What Pulumi knows of an instance, read from the file backend as an administrator would.
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { Schema } from "effect"
import type { InstanceState } from "./Operator.ts"

const State = Schema.Struct({
  checkpoint: Schema.Struct({
    latest: Schema.Struct({
      resources: Schema.Array(
        Schema.Struct({
          urn: Schema.String,
          type: Schema.String,
          id: Schema.optionalKey(Schema.String),
          delete: Schema.optionalKey(Schema.Boolean),
        }),
      ),
      pending_operations: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Unknown))),
    }),
  }),
})

const decode = Schema.decodeSync(Schema.fromJsonString(State))

/** The newest state of the one stack an instance has; packed since its first real `up`. `undefined`: there is none. */
export const readPulumiState = ({ backend }: InstanceState) => {
  const file = join(backend, ".pulumi", "stacks", "platform-instance", "instance.json")
  if (existsSync(`${file}.gz`))
    return decode(gunzipSync(readFileSync(`${file}.gz`)).toString()).checkpoint.latest
  return existsSync(file) ? decode(readFileSync(file, "utf8")).checkpoint.latest : undefined
}
export type PulumiState = NonNullable<ReturnType<typeof readPulumiState>>

/** What lies in a state twice, or is left half done. Empty for a state that an undisturbed `up` would have left. */
export const flaws = (state: PulumiState | undefined): ReadonlyArray<string> => {
  if (state === undefined) return ["there is none"]
  const seen = new Set<string>()
  return [
    ...state.resources.flatMap(({ urn, delete: deleting }) => {
      const twice = seen.has(urn)
      seen.add(urn)
      return [...(twice ? [`twice: ${urn}`] : []), ...(deleting === true ? [`to be deleted: ${urn}`] : [])]
    }),
    ...(state.pending_operations ?? []).map((operation) => `pending: ${JSON.stringify(operation)}`),
  ]
}
