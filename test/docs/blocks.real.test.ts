// The commands of the pages that no comment excuses, run as they stand in their order, on a real API server: kubectl and helm
// understand them, and the server does as it is told. Nothing runs there; what needs that says so (`Blocks.ts`).
import { execFile, execFileSync } from "node:child_process"
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { parse, parseAllDocuments } from "yaml"
import release from "../../release.json" with { type: "json" }
import {
  instancePolicyManifests,
  podPolicyManifests,
  policyManifests,
  servicePolicyManifests,
} from "../../src/actors/instance/target/AdmissionPolicies.ts"
import { priorityClassManifest } from "../../src/actors/instance/target/controlPlanePriority.ts"
import { ANNOTATION_DAY_TWO, FINALIZER } from "../../src/schema/Names.ts"
import { programPath, startApiServer } from "../services/Pulumi/apiServer.ts"
import { type Block, blocksOf, commandsOf, filledIn, isCommands, pagesWithBlocks } from "./Blocks.ts"

const repository = path.join(import.meta.dirname, "../..")

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "stuck", namespace: "platform-operator" },
  spec: { containers: [{ name: "c", image: "none" }] },
}
const secret = (namespace: string, name: string, key: string) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { namespace, name },
  stringData: { [key]: "hush" },
})

const asTheOperatorLeavesIt = [
  `kubectl -n team-a patch pi one --type merge -p '${JSON.stringify({
    metadata: {
      finalizers: [FINALIZER],
      annotations: { [ANNOTATION_DAY_TWO]: "{}", "example.org/mine": "kept" },
    },
  })}'`,
  `kubectl -n team-a patch pi one --subresource status --type merge -p '${JSON.stringify({
    status: { phase: "Failed", installedVersion: "6.0.21" },
  })}'`,
].join("\n")
const released = `kubectl -n team-a patch pi one --type merge -p '{"metadata":{"finalizers":null}}'`

/** What is put back has become the reader's manifest: what of it is the operator's would go with the next one without it. */
const checkManifests = Effect.fnUntraced(function* ({ bash, folder }: Effect.Success<typeof scene>) {
  const { items } = parse(readFileSync(`${folder}/instances.yaml`, "utf8"))
  for (const item of items) {
    assert.deepStrictEqual(Object.keys(item), ["apiVersion", "kind", "metadata", "spec"])
    assert.includeMembers(["annotations", "labels", "name", "namespace"], Object.keys(item.metadata))
  }
  const one = items.find((item: { metadata: { name: string } }) => item.metadata.name === "one")
  const annotations = Object.keys(one.metadata.annotations)
  assert.include(annotations, "example.org/mine")
  assert.notInclude(annotations, ANNOTATION_DAY_TWO)
  assert.notInclude(annotations, "kubectl.kubernetes.io/last-applied-configuration")
  yield* bash("kubectl diff -f instances.yaml")
})

const scene = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(path.join(tmpdir(), "blocks-"))),
    (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true })),
  )
  yield* startApiServer(folder)
  const helm = execFileSync("tools/programs/prebuilt-helm.sh", { cwd: repository, encoding: "utf8" }).trim()
  const kubectl = programPath("kubectl") ?? assert.fail("there is no kubectl")
  symlinkSync(`${repository}/charts`, `${folder}/charts`)
  symlinkSync(`${repository}/examples`, `${folder}/examples`)
  copyFileSync(`${repository}/examples/one.yaml`, `${folder}/one.yaml`)
  const bash = (script: string, input = "") =>
    Effect.callback<string, string>((resume) => {
      const env = {
        ...process.env,
        HOME: folder,
        KUBECONFIG: `${folder}/api-server/kubeconfig`,
        PATH: [path.dirname(kubectl), path.dirname(helm), process.env.PATH].join(":"),
      }
      const child = execFile(
        "bash",
        ["-euo", "pipefail", "-c", script],
        { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 },
        (error, out, err) =>
          resume(error === null ? Effect.succeed(out) : Effect.fail(`${script}\n${out}\n${err}`)),
      )
      child.stdin?.end(input)
    })
  const apply = (...objects: ReadonlyArray<unknown>) =>
    bash(
      "kubectl apply --server-side --force-conflicts -f -",
      JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }),
    )

  yield* bash(`kubectl apply --server-side -f ${repository}/crd/platforminstances.yaml`)
  yield* bash("kubectl wait --for=condition=Established crd/platforminstances.platform.di-framework.dev")

  /** What a reader has before the block: the operator's namespace, an instance, what the operator and the chart have made. */
  const prepare = Effect.fnUntraced(function* (script: string) {
    if (script.includes("create namespace team-a")) {
      // Nobody here empties a namespace that is deleted: it is taken away as it is.
      yield* bash("kubectl delete namespace team-a --ignore-not-found --wait=false")
      const ending = yield* bash("kubectl get namespace team-a --ignore-not-found -o json")
      if (ending !== "") {
        yield* bash(
          "kubectl replace --raw /api/v1/namespaces/team-a/finalize -f -",
          ending.replace('"kubernetes"', ""),
        )
      }
      return
    }
    yield* apply(
      ...["platform-operator", "team-a"].map((name) => ({
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name },
      })),
    )
    yield* apply(
      ...policyManifests("system:serviceaccount:platform-operator:platform-operator"),
      ...instancePolicyManifests().slice(0, 1),
      ...podPolicyManifests(),
      ...servicePolicyManifests(),
      priorityClassManifest,
      pod,
    )
    yield* bash("kubectl apply -f one.yaml")
    if (script.includes("> instances.yaml")) yield* bash(asTheOperatorLeavesIt)
    if (script.includes("apply -f instances.yaml"))
      yield* bash(`kubectl -n team-a delete pi one --wait=false; ${released}`)
    yield* /create secret generic platform-operator-passphrase|apply -f passphrase.yaml/.test(script)
      ? bash("kubectl -n platform-operator delete secret platform-operator-passphrase --ignore-not-found")
      : apply(secret("platform-operator", "platform-operator-passphrase", "passphrase"))
  })

  return { folder, bash, prepare }
})

const blocks = pagesWithBlocks.flatMap(blocksOf)

const play = Effect.fnUntraced(function* (
  block: Block,
  { bash, folder, prepare }: Effect.Success<typeof scene>,
) {
  const commands = commandsOf(block)
  yield* prepare(block.text)
  for (const { line, printed } of commands) {
    // Where the page has the reader stand.
    const here = line.startsWith("find ") ? "cd charts/vcluster && " : ""
    const out = yield* bash(here + filledIn(line)).pipe(Effect.mapError((words) => `${block.at}: ${words}`))
    if (printed !== undefined) {
      assert.deepStrictEqual(out.split("\n")[0]?.split(/\s+/), printed.split(/\s+/), block.at)
    }
    if (line.startsWith("find ")) assert.include(out, release.vcluster.chartDigest.slice("sha256:".length))
    if (line.includes("> instances.yaml")) yield* checkManifests({ bash, folder, prepare })
    if (line.startsWith("helm template ")) assert.include(out, "kind: Deployment")
    if (line.includes(" patch pi one ") && line.includes('"version"')) {
      assert.include(
        yield* bash("kubectl -n team-a get pi one -o jsonpath='{.spec.version}'"),
        filledIn("<version>"),
      )
    }
  }
})

describe("the commands of the pages", () => {
  it.live(
    "do what the pages say",
    () =>
      Effect.gen(function* () {
        const at = yield* scene
        const played = blocks.filter((block) => isCommands(block) && block.comment === undefined)
        assert.isAbove(played.length, 8)
        yield* Effect.forEach(played, (block) => play(block, at), { discard: true })
        const wrong = { at: "nowhere:1", page: "", language: "sh", comment: undefined, before: "" }
        assert.include(
          yield* Effect.flip(play({ ...wrong, text: "kubectl -n team-a get pi two\n" }, at)),
          "nowhere:1",
        )
      }).pipe(Effect.scoped),
    600_000,
  )

  it.live(
    "are given manifests that the API server takes",
    () =>
      Effect.gen(function* () {
        const { bash, prepare } = yield* scene
        yield* prepare("")
        const shown = [
          ...blocks.filter(({ language, text }) => language === "yaml" && /^kind: /m.test(text)),
          ...readdirSync(`${repository}/examples`)
            .filter((name) => name.endsWith(".yaml"))
            .map((name) => ({ at: name, text: readFileSync(`${repository}/examples/${name}`, "utf8") })),
        ]
        assert.isAbove(shown.length, 4)
        for (const { at, text } of shown) {
          for (const document of parseAllDocuments(filledIn(text))) {
            yield* bash("kubectl apply --dry-run=server --validate=strict -f -", String(document)).pipe(
              Effect.mapError((words) => `${at}: ${words}`),
            )
          }
        }
      }).pipe(Effect.scoped),
    600_000,
  )
})
