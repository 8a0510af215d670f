// The filter by which instances are backed up, as its page has it: what it leaves of them is its reader's manifest.
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
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
