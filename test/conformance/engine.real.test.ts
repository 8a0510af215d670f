// The runner with the real engine, provider and API server against its twin: the same requests, the same observations.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { NodeServices } from "@effect/platform-node"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { temporary } from "../services/Pulumi/harness.ts"
import { simulate } from "../twins/simulation/Simulation.ts"
import { interrupted } from "./engine/interrupted.ts"
import { installLibraries, makeRealSide } from "./engine/RealSide.ts"
import type { EngineSide } from "./engine/Side.ts"
import { scenario } from "./engine/scenario.ts"
import { makeTwinSide } from "./engine/TwinSide.ts"
import { observe, type Scenario } from "./Scenario.ts"

/** What npm makes for both. */
const libraries = mkdtempSync(path.join(tmpdir(), "libraries-"))
beforeAll(() => installLibraries(libraries))
afterAll(() => rmSync(libraries, { recursive: true, force: true }))

const holds = (make: () => Scenario<EngineSide>) =>
  Effect.gen(function* () {
    const twin = simulate(
      Effect.flatMap(makeTwinSide, (side) => observe(make(), side)),
      { seed: 1 },
    )
    const root = yield* temporary
    const real = yield* observe(make(), yield* makeRealSide(root, libraries))
    assert.deepStrictEqual(twin, real)
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))

describe("the engine and its twin agree on", () => {
  it.live("the life of an installation", () => holds(() => scenario), 1_800_000)
  it.live("an installation that is killed", () => holds(interrupted), 1_800_000)
})
