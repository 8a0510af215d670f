// Random names and storage roots for F38, and what lies there: what the Job is asked for, and what it may touch.
import { posix } from "node:path"
import { Schema } from "effect"
import { assert } from "vitest"
import { cleanupJob } from "../../../src/services/Cleanup/CleanupJob.ts"
import type { Entry } from "../../twins/controllers/node/Files.ts"
import type { Prng } from "../../twins/simulation/Prng.ts"

const Job = Schema.Struct({
  spec: Schema.Struct({
    template: Schema.Struct({
      spec: Schema.Struct({
        containers: Schema.Tuple([
          Schema.Struct({
            name: Schema.String,
            image: Schema.String,
            command: Schema.Array(Schema.String),
            args: Schema.Array(Schema.String),
          }),
        ]),
        volumes: Schema.Tuple([Schema.Struct({ hostPath: Schema.Struct({ path: Schema.String }) })]),
      }),
    }),
  }),
})
const decodeJob = Schema.decodeUnknownSync(Job)

export const canaries = [
  "/canary/file",
  "/canary/one/file",
  "/canary/team-a/one/file",
  "/srv/team-a/one/file",
  "/srv/instances/team-a/two/file",
]
const goodNames = ["one", "two", "a.b", "x".repeat(63)]
const badNames = [
  "..",
  ".",
  "",
  "../../canary",
  "%2e%2e",
  "one/../two",
  "o\0ne",
  "x".repeat(300),
  "One",
  "-",
  "one/",
]
const goodBases = ["/srv/instances", "/srv/instances/", "/data", "/link/instances"]
/** The last of them is a link that an administrator has made. */
const placeOf = (path: string): string => path.replace(/^\/link\//, "/srv/")
const badBases = [
  "/srv/../canary",
  "/srv/%2e%2e/canary",
  "/srv\0/instances",
  "",
  "/",
  "srv",
  `/${"x".repeat(2_000)}`,
  "/srv/./instances",
  "/..",
]

export interface Case {
  readonly base: string
  readonly namespace: string
  readonly name: string
  readonly entries: ReadonlyMap<string, Entry>
  /** A folder that another file system is mounted on. */
  readonly mountPoint: string | undefined
}

/** Names and roots of every kind, and below them files, folders, links that lead out, and mounts. */
export const draw = (prng: Prng): Case => {
  const pick = <A>(values: readonly [A, ...ReadonlyArray<A>] | ReadonlyArray<A>): A =>
    values[prng.below(values.length)] ?? assert.fail("nothing to pick from")
  const chance = (percent: number) => prng.below(100) < percent
  const base = chance(80) ? pick(goodBases) : pick(badBases)
  const namespace = chance(85) ? "team-a" : pick(badNames)
  const name = chance(85) ? pick(goodNames) : pick(badNames)
  const entries = new Map<string, Entry>([
    ...canaries.map((path): [string, Entry] => [path, { type: "file" }]),
    ["/link/instances", { type: "link", to: "/srv/instances" }],
  ])
  const folder = placeOf(posix.normalize(`${base}/${namespace}`))
  const root = placeOf(posix.normalize(`${base}/${namespace}/${name}`))
  const targets = ["/canary", "/", "..", "../two", "/srv/team-a", ".", "/nowhere", folder]
  const put = (path: string, entry: Entry) => {
    if (!entries.has(path) && !path.includes("\0") && path.length < 200) entries.set(path, entry)
  }
  // The kubelet follows a link that takes the place of the namespace's folder.
  const kind = prng.below(100)
  // A link to itself could not be mounted.
  if (kind < 5 && namespace === "team-a" && goodBases.includes(base)) {
    // Without the canaries that lie in it: a folder is no link.
    for (const path of entries.keys()) if (path.startsWith(`${folder}/`)) entries.delete(path)
    put(folder, { type: "link", to: pick(["/canary", "/canary/team-a", "/canary/deep/team-a"]) })
  }
  if (kind >= 5 && kind < 15 && goodNames.includes(name)) put(root, { type: "link", to: pick(targets) })
  if (kind >= 15 && kind < 20) put(root, { type: "file" })
  const count = kind < 20 ? 0 : prng.below(8)
  for (let entry = 0; entry < count; entry++) {
    const path = `${root}/${pick(["a", "b/c", "b/d/e", "f", "di-tenants/acme/blob", ".hidden"])}`
    put(path, chance(40) ? { type: "link", to: pick(targets) } : { type: "file" })
  }
  return { base, namespace, name, entries, mountPoint: chance(5) ? `${root}/b` : undefined }
}

export const requested = ({ base, namespace, name }: Case) =>
  decodeJob(
    cleanupJob({
      image: "operator",
      cleanupNamespace: "ops",
      base,
      currentBase: base,
      key: { namespace, name },
      uid: "life",
    }),
  ).spec.template.spec

/** The one folder a cleanup may touch, as it was asked for; none when that is no plain path. */
export const allowed = ({ namespace, name }: Case, base: string): string =>
  placeOf(`${base}/${namespace}/${name}`)
export const isOutside = (path: string, root: string) => path !== root && !path.startsWith(`${root}/`)
