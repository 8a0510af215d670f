// What a failure is called, by what the programs really say (field report F24).
import { assert, it } from "@effect/vitest"
import { failureMessage, tail } from "../../../src/services/Pulumi/Messages.ts"
import { redaction } from "../../../src/services/Pulumi/Redact.ts"

const message = (words: string, secrets: ReadonlyArray<string> = []) =>
  failureMessage({ step: "up", version: "6.0.22", words, redact: redaction(secrets) })

const failures: ReadonlyArray<readonly [string, string, RegExp]> = [
  ["locked", "error: the stack is currently locked by 1 lock(s). Either wait", /^The state is locked/],
  [
    "passphrase",
    "getting stack configuration: get stack secrets manager: incorrect passphrase",
    /^The passphrase/,
  ],
  [
    "plugin",
    "no resource plugin 'pulumi-resource-kubernetes' found in the workspace at version v4.25.0",
    /^A provider plugin is missing/,
  ],
  ["disk", "write /state/x: no space left on device", /^The disk is full/],
  [
    "unreachable",
    "configured Kubernetes cluster is unreachable: dial tcp: connect: connection refused",
    /^The instance's cluster does not answer/,
  ],
  ["quota", 'pods "x" is forbidden: exceeded quota: small, requested: pods=1', /^A resource quota/],
  [
    "admission",
    'admission webhook "v.example" denied the request: no',
    /^The instance's cluster refuses an object/,
  ],
  [
    "pod security",
    'pods "x" is forbidden: violates PodSecurity "restricted:latest"',
    /^The instance's cluster refuses an object/,
  ],
  [
    "timeout",
    "the Kubernetes API server reported that wasmcloud failed to become ready: timed out waiting",
    /^A resource of the platform did not become ready/,
  ],
  [
    "memory",
    "the runner was killed by a signal (SIGKILL)",
    /^The operation was killed, probably for lack of memory/,
  ],
  ["ended", "Command was killed with SIGTERM (Termination)", /^The operation was ended from outside/],
  [
    "program",
    "Error: platform config: bad tenant name X. Nothing was deleted.",
    /^The platform's program failed/,
  ],
  ["unknown", "something never heard of", /^The step "up" of platform 6\.0\.22 failed/],
]

for (const [name, words, first] of failures) {
  it(`${name}: the first sentence says what happened and what to do`, () => {
    assert.match(message(words), first)
    assert.include(message(words), words)
  })
}

it("an unknown failure keeps at most 1 KiB of the end of what was said, in whole characters", () => {
  const kept = tail(`${"é".repeat(3000)} the end`)
  assert.isAtMost(Buffer.byteLength(kept), 1024)
  assert.match(kept, /^….* the end$/)
  assert.notInclude(kept, "\uFFFD")
})

it("a secret that lies across the cut is gone whole", () => {
  const secret = "planted-secret-".repeat(20)
  const words = `${"x ".repeat(100)}${secret}${" y".repeat(400)}`
  assert.notInclude(message(words, [secret]), "planted")
})
