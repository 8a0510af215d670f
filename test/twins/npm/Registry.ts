// A package registry in the simulated world: what is published, and the verbs by which a test disturbs it.
import { versions as fixtureVersions, packVersion } from "../../fixtures/platform/pack.mts"

export interface Published {
  readonly name: string
  readonly version: string
  /** Below the package's folder, package.json included: path and text. */
  readonly files: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
}

/** What one request finds. */
export type Meeting =
  | { readonly _tag: "Answers" }
  | { readonly _tag: "Refuses" }
  | { readonly _tag: "Hangs" }
  | { readonly _tag: "Status"; readonly status: number }

export interface Registry {
  readonly publish: (published: Published) => void
  readonly find: (name: string) => ReadonlyArray<Published>
  /** The next `times` requests (default: every one until `mend`) are answered with this status. */
  readonly answer: (status: number, times?: number) => void
  /** Nobody listens. */
  readonly refuse: () => void
  /** Connections are taken and nothing is said. */
  readonly hang: () => void
  /** What is sent for this package is not what was published; its digest is told as before. */
  readonly tamper: (name: string) => void
  readonly mend: () => void
  /** What one request finds. */
  readonly meet: () => Meeting
  readonly isTampered: (name: string) => boolean
  /** Requests so far. */
  readonly requests: () => number
}

const library = (name: string, version: string): Published => ({
  name,
  version,
  files: {
    "package.json": JSON.stringify({
      name,
      version,
      main: "index.js",
      ...(name === "@pulumi/pulumi" ? {} : { pulumi: { resource: true, name: name.split("/")[1], version } }),
    }),
    "index.js": "",
  },
  dependencies: {},
})

/** A version of the stand-in package, with what it depends on. */
const platform = (version: string): Published => {
  const { name, manifest, files } = packVersion(version)
  const dependencies: unknown = manifest.dependencies
  return {
    name,
    version,
    files: { "package.json": `${JSON.stringify(manifest, null, 2)}\n`, ...files },
    dependencies: Object.fromEntries(
      Object.entries(typeof dependencies === "object" && dependencies !== null ? dependencies : {}).map(
        ([key, value]) => [key, String(value)],
      ),
    ),
  }
}

let fixtures: ReadonlyArray<Published> | undefined

/** Every version of the stand-in package, and the libraries they pin: packed once a process. */
export const fixturePackages = (): ReadonlyArray<Published> => {
  fixtures ??= packFixtures()
  return fixtures
}

const packFixtures = (): ReadonlyArray<Published> => {
  const platforms = fixtureVersions.map(platform)
  const pins = new Map(platforms.flatMap(({ dependencies }) => Object.entries(dependencies)))
  return [...platforms, ...[...pins].map(([name, version]) => library(name, version))]
}

export const makeRegistry = (published: ReadonlyArray<Published> = fixturePackages()): Registry => {
  const packages = [...published]
  const tampered = new Set<string>()
  let state: "well" | "refuses" | "hangs" = "well"
  let status: { readonly code: number; left: number } | undefined
  let requests = 0
  return {
    publish: (one) => {
      const before = packages.findIndex(({ name, version }) => name === one.name && version === one.version)
      packages.splice(before < 0 ? packages.length : before, before < 0 ? 0 : 1, one)
    },
    find: (name) => packages.filter((one) => one.name === name),
    answer: (code, times = Number.POSITIVE_INFINITY) => {
      status = { code, left: times }
    },
    refuse: () => {
      state = "refuses"
    },
    hang: () => {
      state = "hangs"
    },
    tamper: (name) => {
      tampered.add(name)
    },
    mend: () => {
      state = "well"
      status = undefined
      tampered.clear()
    },
    isTampered: (name) => tampered.has(name),
    requests: () => requests,
    meet: () => {
      requests++
      if (state === "refuses") return { _tag: "Refuses" }
      if (state === "hangs") return { _tag: "Hangs" }
      if (status === undefined || status.left <= 0) return { _tag: "Answers" }
      status.left--
      return { _tag: "Status", status: status.code }
    },
  }
}
