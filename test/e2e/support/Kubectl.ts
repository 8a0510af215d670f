// The user's door to the cluster: kubectl, as a child.
import { join } from "node:path"
import { Schema } from "effect"
import { type RunOptions, run } from "./Child.ts"
import { programs } from "./Cluster.ts"

export const kubectlPath = join(programs, "kubectl")

/** Runs kubectl and gives what it printed. */
export const kubectl = (args: ReadonlyArray<string>, options: RunOptions = {}): Promise<string> =>
  run(kubectlPath, args, options)

/** What `kubectl get … -o json` gives, decoded. */
export const getJson = async <S extends Schema.Codec<unknown, unknown>>(
  schema: S,
  args: ReadonlyArray<string>,
): Promise<S["Type"]> =>
  Schema.decodeSync(Schema.fromJsonString(schema))(await kubectl(["get", ...args, "-o", "json"]))

const Named = Schema.Struct({ metadata: Schema.Struct({ name: Schema.String }) })
const NamedList = Schema.Struct({ items: Schema.Array(Named) })

/** The names of the objects `kubectl get …` finds. */
export const names = async (...args: ReadonlyArray<string>): Promise<ReadonlyArray<string>> =>
  (await getJson(NamedList, args)).items.map(({ metadata }) => metadata.name)

const Identified = Schema.Struct({ metadata: Schema.Struct({ uid: Schema.String }) })
/** The UID of the object `kubectl get …` gives. */
export const uidOf = async (...args: ReadonlyArray<string>): Promise<string> =>
  (await getJson(Identified, args)).metadata.uid

/** What the server or kubectl says to a command that is to be refused. */
export const refusalOf = (...args: ReadonlyArray<string>): Promise<string> =>
  kubectl(args).then(
    (said) => `it was not refused: ${said}`,
    (error: unknown) => String(error),
  )

/** Whether the object is there. Any other trouble than its absence fails. */
export const exists = async (...args: ReadonlyArray<string>): Promise<boolean> =>
  (await kubectl(["get", ...args, "--ignore-not-found", "-o", "name"])) !== ""

export const apply = (manifest: object | string): Promise<string> =>
  kubectl(["apply", "-f", "-"], {
    input: typeof manifest === "string" ? manifest : JSON.stringify(manifest),
  })

export const createNamespace = (name: string): Promise<string> =>
  apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } })
