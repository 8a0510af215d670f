// What a failure is called, by what the programs really say.
import { assert, describe, it } from "@effect/vitest"
import { installFailed } from "../../../src/actors/instance/install/prepare.ts"
import { MAX_MESSAGE } from "../../../src/schema/Conditions.ts"
import { failureMessage, tail } from "../../../src/services/Pulumi/Messages.ts"
import { redaction } from "../../../src/services/Pulumi/Redact.ts"

const message = (words: string, secrets: ReadonlyArray<string> = []) =>
  failureMessage({ step: "up", version: "6.0.22", words, redact: redaction(secrets) })

interface Failure {
  readonly kind: string
  readonly words: string
  /** What happened. */
  readonly what: RegExp
  /** What to do. */
  readonly todo: RegExp
}
const failures: ReadonlyArray<Failure> = [
  {
    kind: "locked",
    words:
      "error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the lock file with `pulumi cancel`.\n  file:///state/backend/.pulumi/locks/organization/platform/prod/7.json: created by root@vm (pid 16589) at 2026-11-29T19:34:16Z",
    what: /^The state is locked by another process/,
    todo: /wait for its end/,
  },
  {
    kind: "passphrase",
    words: "error: getting stack configuration: get stack secrets manager: incorrect passphrase",
    what: /^The passphrase does not open this instance's state/,
    todo: /put back the passphrase Secret/,
  },
  {
    kind: "no passphrase",
    words:
      "error: passphrase must be set with PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE environment variables",
    what: /^The passphrase does not open/,
    todo: /put back the passphrase Secret/,
  },
  {
    kind: "plugin",
    words:
      "error: no resource plugin 'pulumi-resource-kubernetes' found in the workspace at version v4.25.0 or on your $PATH, install the plugin using `pulumi plugin install resource kubernetes v4.25.0`",
    what: /^A provider plugin is missing/,
    todo: /plugin host/,
  },
  {
    kind: "ENOSPC",
    words:
      "error: failed to save snapshot: write /state/backend/.pulumi/stacks/platform/prod.json: no space left on device",
    what: /^The disk is full/,
    todo: /make room/,
  },
  {
    kind: "unreachable",
    words:
      'error: configured Kubernetes cluster is unreachable: unable to load schema information from the API server: Get "https://vcluster.pi-a.svc:443/openapi/v2": dial tcp 10.43.0.7:443: connect: connection refused',
    what: /^The instance's cluster does not answer/,
    todo: /look at its vCluster pod/,
  },
  {
    kind: "unreachable in a refresh",
    words:
      'error: Preview failed: failed to read resource state due to unreachable cluster. If the cluster was deleted, you can remove this resource from Pulumi state by rerunning the operation with the PULUMI_K8S_DELETE_UNREACHABLE environment variable set to "true"',
    what: /^The instance's cluster does not answer/,
    todo: /NetworkPolicies/,
  },
  {
    kind: "unreachable before the engine runs, as this operator's own client says it",
    words: "connect ECONNREFUSED 10.43.0.7:443",
    what: /^The instance's cluster does not answer/,
    todo: /look at its vCluster pod/,
  },
  {
    kind: "unreachable by its name",
    words: "getaddrinfo ENOTFOUND vcluster.pi-team-a-one.svc",
    what: /^The instance's cluster does not answer/,
    todo: /NetworkPolicies/,
  },
  {
    kind: "silent",
    words: "no answer within 10s",
    what: /^The instance's cluster does not answer/,
    todo: /NetworkPolicies/,
  },
  {
    kind: "an old certificate, as this operator's own client says it",
    words: "certificate has expired",
    what: /^The instance's cluster does not accept the operator's credentials/,
    todo: /rotated/,
  },
  {
    kind: "quota",
    words:
      'error: resource "wasmcloud/hosts" was not successfully created by the Kubernetes API server: pods "hosts-0" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1',
    what: /^A resource quota refuses/,
    todo: /raise the quota/,
  },
  {
    kind: "admission denial",
    words:
      'error: admission webhook "validate.example.com" denied the request: images must come from registry.example.com',
    what: /^The instance's cluster refuses an object/,
    todo: /change the policy/,
  },
  {
    kind: "pod security",
    words: 'error: pods "hosts-0" is forbidden: violates PodSecurity "restricted:latest": hostPath volumes',
    what: /^The instance's cluster refuses an object/,
    todo: /change the policy/,
  },
  {
    kind: "timeout",
    words:
      "error: 2 errors occurred:\n\t* the Kubernetes API server reported that \"wasmcloud/hosts\" failed to fully initialize or become live: 'hosts' timed out waiting to be Ready\n\t* Minimum number of Pods to consider the application live was not attained",
    what: /^A resource of the platform did not become ready in time/,
    todo: /look at the object named below/,
  },
  {
    kind: "an object that is refused, for what is no matter of time",
    words:
      'resource "urn:pulumi:instance::platform-instance::kubernetes:core/v1:Service::gateway" was not successfully created by the Kubernetes API server: Server-Side Apply field conflict detected.',
    what: /^The step "up" of platform 6\.0\.22 failed for a reason the operator does not know/,
    todo: /what it said follows/,
  },
  {
    kind: "OOM of the runner",
    words: "the runner was killed by a signal (SIGKILL)\n",
    what: /^The operation was killed, probably for lack of memory/,
    todo: /raise the operator's memory limit/,
  },
  {
    kind: "OOM, exit code 137",
    words: "the runner ended with exit code 137\n",
    what: /^The operation was killed, probably for lack of memory/,
    todo: /raise the operator's memory limit/,
  },
  {
    kind: "OOM of the provider",
    words:
      "error: could not start plugin kubernetes: plugin exited unexpectedly: signal: killed; exit status 137",
    what: /^The operation was killed, probably for lack of memory/,
    todo: /raise the operator's memory limit/,
  },
  {
    kind: "OOM of Node's heap",
    words:
      "the runner ended with exit code 134\nFATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
    what: /^The operation was killed, probably for lack of memory/,
    todo: /raise the operator's memory limit/,
  },
  {
    kind: "SIGTERM",
    words: "Command was killed with SIGTERM (Termination): pulumi up --yes --skip-preview",
    what: /^The operation was ended from outside/,
    todo: /tried again/,
  },
  {
    kind: "program error",
    words: 'error: Unhandled exception: Error: platform config: tenants[0].name "Acme" is not a tenant name',
    what: /^The platform's program failed/,
    todo: /check spec.version and spec.platform/,
  },
  {
    kind: "program that gives less than is declared",
    words:
      "the platform's program made the tenants [], but the instance declares [acme]. Nothing was deleted.",
    what: /^The platform's program failed/,
    todo: /check spec.version and spec.platform/,
  },
  {
    kind: "unknown",
    words: "error: something never heard of",
    what: /^The step "up" of platform 6\.0\.22 failed for a reason the operator does not know/,
    todo: /tried again/,
  },
]

describe("F24 a failure", () => {
  for (const { kind, words, what, todo } of failures) {
    it(`(${kind}): the first sentence says what happened and what to do`, () => {
      const said = message(words)
      const [first = "", ...rest] = said.split(". ")
      assert.match(said, what)
      assert.match(first, todo)
      assert.isNotEmpty(rest.join(". "))
    })
  }

  it("(locked) does not repeat the advice to remove live locks", () => {
    const said = message(failures[0]?.words ?? assert.fail())
    assert.notInclude(said, "pulumi cancel")
    assert.include(said, "pid 16589")
  })

  it("(unreachable) does not repeat the advice to drop what cannot be reached", () => {
    const words = failures.find(({ kind }) => kind === "unreachable in a refresh")?.words ?? assert.fail()
    assert.notInclude(message(words), "DELETE_UNREACHABLE")
  })

  it("(program error) is told without the trace of where it was thrown", () => {
    const words = `/state/instances/team-a/one/project/index.js:12
  throw new Error("x")
  ^

Error: platform config: bad tenant name X
    at guard (/state/instances/team-a/one/project/index.js:12:9)
    at async run (file:///state/packages/6.0.22/node_modules/x.js:40:3)
    at node:internal/main/run_main_module:36:49

Node.js v24.1.0`
    assert.strictEqual(
      message(`the runner ended with exit code 1: unhandled exception\n${words}`).replace(/^.*?\. /, ""),
      "the runner ended with exit code 1: unhandled exception\nError: platform config: bad tenant name X",
    )
  })

  it("has what the engine's command said once, without the command's line", () => {
    const said = "error: getting secrets manager: passphrase must be set with PULUMI_CONFIG_PASSPHRASE"
    const told = (lines: string) => `code: -2\n stdout: \n stderr: ${lines}\n err?: Error: ${lines}\n`
    const command = "Command failed with exit code 255: /opt/pulumi config --show-secrets --json"
    assert.match(
      message(told(`${command}\n${said}`)),
      /state was made with.*rotate-passphrase\. error: getting/,
    )
    assert.isTrue(message(told(`${command}\n${said}`)).endsWith(said))
    // Where it said nothing, that is all that is known.
    assert.isTrue(message(told(command)).endsWith(command))
  })

  it("(unknown) keeps at most 1 KiB of the end of what was said, in whole characters", () => {
    const kept = tail(`${"é".repeat(3000)} the end`)
    assert.isAtMost(Buffer.byteLength(kept), 1024)
    assert.match(kept, /^….* the end$/)
    assert.notInclude(kept, "\uFFFD")
  })

  it("(unknown) has a secret that lies across the cut taken out whole", () => {
    const secret = "planted-secret-".repeat(20)
    const words = `${"x ".repeat(100)}${secret}${" y".repeat(400)}`
    assert.notInclude(message(words, [secret]), "planted")
  })

  const refusals: ReadonlyArray<readonly [who: string, words: string]> = [
    ["Node", "Error: EACCES: permission denied, open '/state/instances/team-a/two/project/Pulumi.yaml'"],
    ["Go", "error: open /state/.npmrc: permission denied"],
    ["Node, of a move", "Error: EXDEV: cross-device link not permitted, rename '/tmp/a' -> '/tmp/b/a'"],
    ["Go, of a move", "error: rename /tmp/a /tmp/b/a: invalid cross-device link"],
  ]
  const told = (words: string, sandboxed: boolean) =>
    failureMessage({ step: "up", version: "6.0.22", words, redact: redaction([]), sandboxed })
  const hint =
    /\nThe sandbox of packages keeps a program to the files of its own instance; .*--sandbox=false lifts it \(docs\/security\.md\)\.$/
  for (const [who, words] of refusals) {
    it(`(refused a file, in the words of ${who}) ends with the sandbox and what lifts it, where one is in use`, () => {
      assert.match(told(words, true), hint)
      assert.include(told(words, true), words)
      assert.notInclude(told(words, false), "sandbox")
      assert.strictEqual(message(words), told(words, false))
    })
  }

  it("(refused a file) keeps that end where a condition cuts the words", () => {
    const { message: kept } = installFailed(
      "up",
      "6.0.22",
      told(`${refusals[0]?.[1]} ${"x ".repeat(2000)}`, true),
    )
    assert.isAtMost(Buffer.byteLength(kept), MAX_MESSAGE)
    assert.match(kept, hint)
  })

  it("(anything else) does not speak of the sandbox", () => {
    for (const { words } of failures) assert.strictEqual(told(words, true), message(words))
  })
})
