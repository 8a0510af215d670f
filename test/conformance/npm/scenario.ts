// What the package store asks of npm, well and badly.
import { Effect, FileSystem } from "effect"
import { Processes } from "../../../src/services/Process/Processes.ts"
import { sessionProcesses } from "../../../src/services/Process/Session.ts"
import { makePackageStore } from "../../../src/services/Pulumi/PackageStore.ts"
import type { Services } from "../engine/Side.ts"
import type { Observation, Scenario, Step } from "../Scenario.ts"
import type { NpmSide } from "./Side.ts"

const packagesOf = ({ root }: NpmSide) => `${root}/packages`

/** Names of the files, and what may be done to them. */
const contentOf = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const names = yield* fs.readDirectory(folder, { recursive: true })
  const modes = new Set<string>()
  for (const name of names) {
    const { type, mode } = yield* fs.stat(`${folder}/${name}`)
    modes.add(`${type} ${(mode & 0o777).toString(8)}`)
  }
  // The order of folders differs; npm keeps its own lock file beside the packages.
  return { names: [...names].sort(), modes: [...modes].sort() }
})

/** The store's answer: the package, or what it says. */
const fetchWith = Effect.fnUntraced(function* (
  side: NpmSide,
  version: string,
  own: Partial<NpmSide["options"]> = {},
) {
  const { fetch } = yield* makePackageStore(packagesOf(side), { ...side.options, ...own })
  const before = side.registry.requests()
  const found = yield* Effect.result(fetch(version))
  const asked = side.registry.requests() > before
  return found._tag === "Success"
    ? { version: found.success.version, builds: found.success.approvedHostBuilds.length, asked }
    : {
        // Each has a port of its own.
        says: found.failure.message
          .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "<registry>")
          .split(/[.:] |\n/)[0],
        step: found.failure.step,
        final: found.failure.final ?? false,
      }
})

const directoryOf = Effect.fnUntraced(function* (side: NpmSide, version: string) {
  const fs = yield* FileSystem.FileSystem
  const names = yield* fs.readDirectory(packagesOf(side))
  const name = names.find((one) => one.startsWith(`${version}-`) && !one.endsWith(".lock.json"))
  return name === undefined ? undefined : `${packagesOf(side)}/${name}`
})

const step = <A, E>(name: string, work: (side: NpmSide) => Effect.Effect<A, E, Services>): Step<NpmSide> => ({
  name,
  run: (side): Effect.Effect<Observation, unknown> => work(side).pipe(Effect.provideContext(side.services)),
})

const disturbed = (name: string, disturb: (side: NpmSide) => void, version: string) =>
  step(name, (side) => {
    disturb(side)
    return fetchWith(side, version).pipe(Effect.tap(() => Effect.sync(side.registry.mend)))
  })

/** Whoever runs npm for this store. */
const npmProcesses = Effect.gen(function* () {
  const { all } = yield* Processes
  const found: Array<number> = []
  for (const { pid, session } of yield* all) {
    if (pid === session && pid !== process.pid) found.push(pid)
  }
  return found
})

export const scenario: Scenario<NpmSide> = {
  name: "packages from a registry",
  steps: [
    step(
      "a version",
      Effect.fnUntraced(function* (side) {
        const found = yield* fetchWith(side, "6.0.21")
        const directory = yield* directoryOf(side, "6.0.21")
        return { found, content: directory === undefined ? undefined : yield* contentOf(directory) }
      }),
    ),
    step("the same again asks nobody", (side) => fetchWith(side, "6.0.21")),
    step("one that approves nothing", (side) => fetchWith(side, "6.0.19")),
    step("a version that is not there", (side) => fetchWith(side, "6.0.99")),
    disturbed("forbidden once", (side) => side.registry.answer(403, 1), "6.0.22"),
    step("and then not any more", (side) => fetchWith(side, "6.0.22")),
    disturbed("unauthorized", (side) => side.registry.answer(401), "6.0.90"),
    disturbed("a registry that is unwell once", (side) => side.registry.answer(503, 1), "6.0.90"),
    disturbed("a registry that stays unwell", (side) => side.registry.answer(503), "6.0.91"),
    step("a registry that is not there", (side) =>
      fetchWith(side, "6.0.91", { registry: "http://127.0.0.1:1" }),
    ),
    step(
      "a registry of the scope alone, from an npmrc",
      Effect.fnUntraced(function* (side) {
        const fs = yield* FileSystem.FileSystem
        const npmrc = `${side.root}/npmrc`
        yield* fs.writeFileString(npmrc, `@di-framework:registry=${side.url}\n`)
        return yield* fetchWith(side, "6.0.21", { npmrc })
      }),
    ),
    disturbed(
      "what is sent differs from what was promised",
      (side) => side.registry.tamper("@di-framework/platform"),
      "6.0.91",
    ),
    step("an entrypoint that cannot be loaded", (side) => {
      side.registry.publish({
        name: "@di-framework/platform",
        version: "7.0.0",
        files: {
          "package.json": JSON.stringify({
            name: "@di-framework/platform",
            version: "7.0.0",
            main: "index.js",
          }),
          "index.js": "throw new Error('bad entrypoint')",
        },
        dependencies: {},
      })
      return fetchWith(side, "7.0.0")
    }),
    step(
      "a package somebody wrote to is installed again",
      Effect.fnUntraced(function* (side) {
        const fs = yield* FileSystem.FileSystem
        const directory = yield* directoryOf(side, "6.0.22")
        const file = `${directory}/node_modules/@di-framework/platform/dist/existing.js`
        yield* fs.chmod(file, 0o600)
        yield* fs.writeFileString(file, "tampered with")
        const found = yield* fetchWith(side, "6.0.22")
        return { found, tampered: (yield* fs.readFileString(file)).includes("tampered") }
      }),
    ),
    step(
      "killed half-way",
      Effect.fnUntraced(function* (side) {
        const fs = yield* FileSystem.FileSystem
        side.registry.hang()
        const before = new Set(yield* npmProcesses)
        const kill = Effect.gen(function* () {
          while (side.registry.requests() === asked) yield* Effect.sleep("100 millis")
          const { signal } = yield* Processes
          for (const pid of yield* npmProcesses) {
            if (before.has(pid)) continue
            for (const each of yield* sessionProcesses(pid)) yield* signal(each, "SIGKILL")
          }
        })
        const asked = side.registry.requests()
        const [found] = yield* Effect.all([fetchWith(side, "6.0.91"), kill], { concurrency: "unbounded" })
        const left = (yield* fs.readDirectory(packagesOf(side))).filter(
          (name) => name.includes("6.0.91") || name.startsWith("."),
        )
        side.registry.mend()
        return { found, left, again: yield* fetchWith(side, "6.0.91") }
      }),
    ),
  ],
}
