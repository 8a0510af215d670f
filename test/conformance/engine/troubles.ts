// Passphrases and states that are wrong, programs that hang, and cancellation.
import { gunzipSync, gzipSync } from "node:zlib"
import { Effect, Exit, FileSystem } from "effect"
import { ConfigMap, Secret } from "../../../src/services/Kubernetes/Kinds.ts"
import { runChild } from "../../../src/services/Process/Child.ts"
import { Processes } from "../../../src/services/Process/Processes.ts"
import { baseEnvironment } from "../../../src/services/Pulumi/Environment.ts"
import { projectName, stackName } from "../../../src/services/Pulumi/Layout.ts"
import { decodeEvent, requestLine } from "../../../src/services/Pulumi/Protocol.ts"
import { at } from "../../twins/kubernetes/Json.ts"
import type { Step } from "../Scenario.ts"
import { type EngineSide, locks, pathsOf, reaches, run, start, stateOf, verdict } from "./Side.ts"
import { after, awaited, only, packed, plain, stackFile, step } from "./steps.ts"
import { fieldOf, objectsOf, remove, revisionsOf } from "./Target.ts"

export const opening: ReadonlyArray<Step<EngineSide>> = [
  step(
    "a wrong passphrase writes nothing",
    Effect.fnUntraced(function* (side) {
      const fs = yield* FileSystem.FileSystem
      const file = side.options.passphraseFile
      const before = yield* fs.readFile(packed(side))
      const right = yield* fs.readFileString(file)
      yield* fs.writeFileString(file, "another one")
      const found = yield* run(side, plain)
      yield* fs.writeFileString(file, right)
      const unchanged = Buffer.from(before).equals(Buffer.from(yield* fs.readFile(packed(side))))
      return { found, unchanged }
    }),
  ),
  step("no passphrase at all", only({ ...plain, env: { PULUMI_CONFIG_PASSPHRASE_FILE: undefined } })),
  step(
    "stack config lost",
    Effect.fnUntraced(function* (side) {
      const fs = yield* FileSystem.FileSystem
      yield* fs.remove(stackFile(side))
      return { found: yield* run(side, plain), there: yield* fs.exists(stackFile(side)) }
    }),
  ),
  step(
    "a state that was cut off",
    Effect.fnUntraced(function* (side) {
      const fs = yield* FileSystem.FileSystem
      const whole = yield* fs.readFile(packed(side))
      const text = gunzipSync(whole).toString("utf8")
      yield* fs.writeFile(packed(side), gzipSync(text.slice(0, 200)))
      yield* fs.remove(`${packed(side)}.attrs`, { force: true })
      const found = yield* run(side, plain)
      yield* fs.writeFile(packed(side), whole)
      return found
    }),
  ),
  step(
    "attributes that were cut off",
    Effect.fnUntraced(function* (side) {
      const fs = yield* FileSystem.FileSystem
      yield* fs.writeFileString(`${packed(side)}.attrs`, "")
      const found = yield* run(side, plain)
      yield* fs.remove(`${packed(side)}.attrs`, { force: true })
      return { found, repaired: yield* run(side, plain) }
    }),
  ),
  step(
    "the copy of the state before in its place",
    Effect.fnUntraced(function* (side) {
      const fs = yield* FileSystem.FileSystem
      yield* fs.copyFile(`${packed(side)}.bak`, packed(side))
      yield* fs.remove(`${packed(side)}.attrs`, { force: true })
      return yield* run(side, plain)
    }),
  ),
  step(
    "files of the backend",
    Effect.fnUntraced(function* (side) {
      const fs = yield* FileSystem.FileSystem
      const root = `${pathsOf(side).backend}/.pulumi`
      const names = yield* fs.readDirectory(root, { recursive: true })
      const kinds = names.map((name) =>
        name.replace(/instance-[0-9]+/, "instance-<time>").replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, "<uuid>"),
      )
      const modes = new Set<string>()
      for (const name of names) {
        const { type, mode } = yield* fs.stat(`${root}/${name}`)
        modes.add(`${type} ${(mode & 0o777).toString(8)}`)
      }
      return { kinds: [...new Set(kinds)].sort(), modes: [...modes].sort() }
    }),
  ),
]

export const stopping: ReadonlyArray<Step<EngineSide>> = [
  step(
    "a program that never finishes is cancelled",
    Effect.fnUntraced(function* (side) {
      const running = yield* start(side, { ...plain, version: "6.0.91" })
      // It registers the version last, and then waits for ever.
      while (
        (yield* fieldOf(side, ConfigMap, "di-platform-version", (object) =>
          at(object, "data", "version"),
        )) !== "6.0.91"
      ) {
        yield* Effect.sleep("100 millis")
      }
      yield* Effect.sleep("2 seconds")
      const held = (yield* locks(side)).length
      yield* running.cancel
      yield* running.ended
      yield* running.close
      return {
        held,
        found: verdict(side, running.events),
        state: yield* stateOf(side),
        objects: yield* objectsOf(side),
      }
    }),
  ),
  step("and the version before after it", after(plain)),
  step(
    "SIGTERM to the runner changes nothing",
    Effect.fnUntraced(function* (side) {
      const running = yield* start(side, plain)
      yield* reaches(running, "select stack")
      const { signal } = yield* Processes
      yield* signal(running.pid, "SIGTERM")
      yield* running.ended
      yield* running.close
      return verdict(side, running.events)
    }),
  ),
  step(
    "a second request, and a line that is none, are refused",
    Effect.fnUntraced(function* (side) {
      const request = requestLine({
        type: "run",
        projectDirectory: `${side.root}/nowhere`,
        project: projectName,
        stack: stackName,
        config: {},
        secretConfig: {},
        refresh: false,
      })
      const { nodePath, runnerPath } = side.options
      const { exitCode, stdout } = yield* runChild({
        command: nodePath,
        args: [runnerPath, "operation"],
        env: baseEnvironment(process.env, `${side.root}/tmp`),
        grace: "5 seconds",
        input: `no request\n${request}${request}`,
      })
      const kinds = stdout
        .trim()
        .split("\n")
        .map((line) => {
          const event = decodeEvent(line)
          return Exit.isSuccess(event) ? event.value.type : "unreadable"
        })
      return { exitCode, kinds: kinds.filter((kind) => kind !== "step").sort() }
    }),
  ),
  step("the host builds of each version", (side) =>
    Effect.forEach(["6.0.19", "6.0.21", "6.0.99"], (version) =>
      runChild({
        command: side.options.nodePath,
        args: [side.options.runnerPath, "approved-host-builds", side.packageOf(version)],
        env: baseEnvironment(process.env, `${side.root}/tmp`),
        grace: "5 seconds",
      }).pipe(Effect.map(({ exitCode, stdout }) => ({ version, exitCode, stdout }))),
    ),
  ),
]

export const killing: ReadonlyArray<Step<EngineSide>> = [
  step(
    "cancelled while something is awaited",
    Effect.fnUntraced(function* (side) {
      const running = yield* start(side, {
        ...plain,
        config: { ...plain.config, ...awaited.config, tenantHostImage: "host:1" },
      })
      yield* reaches(running, "up")
      yield* Effect.sleep("8 seconds")
      yield* running.cancel
      yield* running.ended
      yield* running.close
      // Whether Helm has begun a second rollback by the provider's end is chance, on both sides.
      for (const revision of yield* revisionsOf(side)) {
        const [version, status] = revision.split(" ")
        if (status === "pending-rollback")
          yield* remove(side, Secret, `sh.helm.release.v1.wasmcloud.v${version}`)
      }
      return {
        found: verdict(side, running.events),
        state: yield* stateOf(side),
        revisions: yield* revisionsOf(side),
      }
    }),
  ),
  step("and after the cancellation", after(plain)),
]
