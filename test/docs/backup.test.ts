// The filter by which instances are backed up, as its page has it: what it leaves of them is its reader's manifest.
import { execFileSync } from "node:child_process"
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { assert, it } from "@effect/vitest"
import { parse, stringify } from "yaml"

const command =
  /^\$ (kubectl get pi -A -o yaml \\\n(?: .*\n)*?.* > instances\.yaml)$/m.exec(
    readFileSync("docs/operate.md", "utf8"),
  )?.[1] ?? assert.fail("operate.md backs up no instances")

const instance = (name: string, annotations: Readonly<Record<string, string>> | undefined) => ({
  apiVersion: "platform.di-framework.dev/v1alpha1",
  kind: "PlatformInstance",
  metadata: {
    ...(annotations === undefined ? {} : { annotations }),
    creationTimestamp: "2026-01-01T00:00:00Z",
    finalizers: ["a/finalizer"],
    generation: 2,
    name,
    namespace: "team-a",
    uid: "u",
  },
  spec: { version: "6.0.22" },
  status: { phase: "Ready" },
})
const others = {
  "kubectl.kubernetes.io/last-applied-configuration": '{"a":1}\n',
  "platform.di-framework.dev/trace": "x",
}

it("keeps what somebody said of an instance, and no empty annotations where nobody did", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "backup-"))
  try {
    const items = [
      instance("bare", others),
      instance("mine", { ...others, "example.org/mine": "100%s" }),
      instance("none", undefined),
    ]
    const list = { apiVersion: "v1", items, kind: "List", metadata: { resourceVersion: "" } }
    // kubectl has the items of a list where the list begins.
    writeFileSync(path.join(folder, "list.yaml"), stringify(list, { indentSeq: false }))
    execFileSync("bash", ["-euo", "pipefail", "-c", `kubectl() { cat list.yaml; }\n${command}`], {
      cwd: folder,
    })
    const left = (name: string, more: object) => ({
      apiVersion: "platform.di-framework.dev/v1alpha1",
      kind: "PlatformInstance",
      metadata: { ...more, name, namespace: "team-a" },
      spec: { version: "6.0.22" },
    })
    assert.deepStrictEqual(parse(readFileSync(path.join(folder, "instances.yaml"), "utf8")).items, [
      left("bare", {}),
      left("mine", { annotations: { "example.org/mine": "100%s" } }),
      left("none", {}),
    ])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

/** The arguments of a tar of the page, and where it is run. */
const tarOf = (redirection: "<" | ">") =>
  new RegExp(`-- (?:\\\\\\n +)?(tar -C )(/\\S+)( .*) ${redirection} state\\.tar$`, "m").exec(
    readFileSync("docs/operate.md", "utf8"),
  ) ?? assert.fail(`operate.md has no tar ${redirection} state.tar`)

/** What empties the claim, as the page has it. */
const emptying = (at: string): string =>
  (
    /-- sh -c '(cd \/state && .*)'$/m.exec(readFileSync("docs/operate.md", "utf8"))?.[1] ??
    assert.fail("operate.md does not empty the claim")
  ).replace("/state", at)

it("puts the state back into a volume whose folder is not the operator's", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "backup-"))
  const own = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : {}
  const run = (redirection: "<" | ">", at: string) => {
    const [, tar, , rest] = tarOf(redirection)
    execFileSync("bash", ["-c", `${tar}${at}${rest} ${redirection} state.tar`], {
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
      ...(redirection === "<" ? own : {}),
    })
  }
  try {
    chmodSync(folder, 0o755)
    const from = path.join(folder, "from")
    const to = path.join(folder, "to")
    for (const at of ["instances/team-a/one", "plugins", ".hidden"])
      mkdirSync(path.join(from, at), { recursive: true })
    writeFileSync(path.join(from, "instances/team-a/one/instance.json"), "{}")
    run(">", "from")
    // As a volume is of which a pod has the group (fsGroup).
    mkdirSync(to)
    if (own.gid !== undefined) chownSync(to, 0, own.gid)
    chmodSync(to, 0o2775)
    // What was there before, a package among it, whose folders nobody may write in.
    mkdirSync(path.join(to, "packages/6.0.22-x/lib"), { recursive: true })
    writeFileSync(path.join(to, "packages/6.0.22-x/lib/index.js"), "")
    for (const at of [
      "packages/6.0.22-x/lib/index.js",
      "packages/6.0.22-x/lib",
      "packages/6.0.22-x",
      "packages",
    ]) {
      if (own.uid !== undefined) chownSync(path.join(to, at), own.uid, own.gid)
      if (at !== "packages") chmodSync(path.join(to, at), 0o550)
    }
    execFileSync("sh", ["-c", emptying("to")], { cwd: folder, ...own })
    assert.deepStrictEqual(readdirSync(to), [])
    run("<", "to")
    assert.deepStrictEqual(readdirSync(to, { recursive: true }).sort(), [
      ".hidden",
      "instances",
      "instances/team-a",
      "instances/team-a/one",
      "instances/team-a/one/instance.json",
    ])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
