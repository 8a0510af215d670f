import { readFile } from "node:fs/promises"
import path from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import { parse } from "yaml"
import { vclusterValues } from "../../src/actors/instance/target/VclusterValues.ts"
import { pinnedTenantHostImage, pinnedVclusterImage, ReleaseJson } from "../../src/schema/Release.ts"
import { DiskLive } from "../../src/services/Disk/DiskLive.ts"
import { chartDigest } from "../../src/services/Helm/ChartDigest.ts"

const root = path.join(import.meta.dirname, "../..")
const read = (file: string) => Effect.promise(() => readFile(path.join(root, file), "utf8"))
const release = Effect.flatMap(read("release.json"), Schema.decodeEffect(ReleaseJson))

it.effect("release.json names the chart in charts/vcluster (else: node tools/digest.ts)", () =>
  Effect.gen(function* () {
    const { vcluster } = yield* release
    const digest = yield* chartDigest(path.join(root, "charts/vcluster")).pipe(Effect.provide(DiskLive.layer))
    assert.strictEqual(digest, vcluster.chartDigest)
    assert.strictEqual(parse(yield* read("charts/vcluster/Chart.yaml")).version, vcluster.chartVersion)
  }),
)

it.effect("release.json names the version of this package", () =>
  Effect.gen(function* () {
    assert.strictEqual(JSON.parse(yield* read("package.json")).version, (yield* release).operatorVersion)
  }),
)

it.effect("the default tenant host image is pinned, or there is none", () =>
  Effect.gen(function* () {
    const found = yield* release
    const digest = `sha256:${"0".repeat(64)}`
    assert.deepStrictEqual(pinnedTenantHostImage({ ...found, tenantHostImageDigest: null }), Option.none())
    assert.deepStrictEqual(
      pinnedTenantHostImage({ ...found, tenantHostImageDigest: digest }),
      Option.some(`${found.tenantHostImage}@${digest}`),
    )
  }),
)

it.effect("the vCluster image is pinned by the chart's values, or the chart's own is taken", () =>
  Effect.gen(function* () {
    const found = yield* release
    const digest = `sha256:${"0".repeat(64)}`
    const withDigest = (imageDigest: string | null) =>
      pinnedVclusterImage({ ...found, vcluster: { ...found.vcluster, imageDigest } })
    assert.deepStrictEqual(withDigest(null), Option.none())
    const image = Option.getOrThrow(withDigest(digest))
    const own = vclusterValues({ hostNamespace: "a" }) as typeof pinned
    const pinned = vclusterValues({ hostNamespace: "a", image }) as {
      readonly controlPlane: { readonly statefulSet: { readonly image: Readonly<Record<string, string>> } }
    }
    assert.deepStrictEqual(pinned.controlPlane.statefulSet.image, {
      ...own.controlPlane.statefulSet.image,
      tag: `${found.vcluster.chartVersion}@${digest}`,
    })
  }),
)

it.effect("a digest that is none is refused", () =>
  Effect.gen(function* () {
    const text = (yield* read("release.json")).replace(/sha256:[0-9a-f]+/, "sha256:beef")
    const error = yield* Effect.flip(Schema.decodeEffect(ReleaseJson)(text))
    assert.include(error.message, "chartDigest")
  }),
)
