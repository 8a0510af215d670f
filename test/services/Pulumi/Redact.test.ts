import { assert, describe, it } from "@effect/vitest"
import { kubeconfigSecrets, redaction } from "../../../src/services/Pulumi/Redact.ts"

const secret = 'p"lan/ted+sé cret'

it("a secret is gone in every form it can come by", () => {
  const redact = redaction([secret])
  const base64 = Buffer.from(secret).toString("base64")
  const said = [
    secret,
    JSON.stringify({ secret }),
    base64,
    encodeURIComponent(secret),
    `?q=${base64.replace(/=+$/, "")}`,
  ]
  for (const text of said) {
    const left = redact(`before ${text} after`)
    assert.notInclude(left, "lan/ted")
    assert.notInclude(left, "lan%2Fted")
    assert.notInclude(left, base64.slice(0, -3))
    assert.match(left, /^before .*\[redacted\].* after$/s)
  }
})

it("a secret inside a longer one leaves nothing of it standing", () => {
  assert.strictEqual(redaction(["token", "token-and-more"])("a token-and-more b"), "a [redacted] b")
})

it("each line of a secret of several lines is one", () => {
  assert.notInclude(redaction(["first line\nsecond line\n"])("error at: second line"), "second line")
})

it("what lets somebody in by a kubeconfig is a secret, encoded and decoded; its addresses are not", () => {
  const pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\n"
  const kubeconfig = `
apiVersion: v1
clusters: [{name: c, cluster: {server: "https://vcluster.pi-a.svc:443", certificate-authority-data: Q0E=}}]
users: [{name: u, user: {token: planted-token, client-key-data: ${Buffer.from(pem).toString("base64")}}}]
`
  const redact = redaction(kubeconfigSecrets(kubeconfig))
  const left = redact(`${kubeconfig} MIIEvQIBADANBg https://vcluster.pi-a.svc:443`)
  assert.notInclude(left, "planted-token")
  assert.notInclude(left, "MIIEvQIBADANBg")
  assert.include(left, "https://vcluster.pi-a.svc:443")
  assert.include(left, "certificate-authority-data: Q0E=")
})

describe("F52 a secret that was made inside the package", () => {
  const body = Array.from({ length: 4 }, (_, line) => `MIIEvQIBADAN${line}${"Bgkqhkiw".repeat(6)}aA+/`)
  const pem = `-----BEGIN EC PRIVATE KEY-----\n${body.join("\n")}\n-----END EC PRIVATE KEY-----\n`
  const keyData = Buffer.from(pem).toString("base64")
  const kubeconfig = `users: [{name: acme, user: {client-key-data: ${keyData}, token: made-inside-token}}]`
  const jwt = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhY21lIn0.c2lnbmF0dXJlLW9mLWl0"
  const planted: ReadonlyArray<readonly [string, string, ReadonlyArray<string>]> = [
    ["a generated key", `cannot import ${pem}`, body],
    ["a generated key inside JSON", JSON.stringify({ tls: pem }), body],
    ["a tenant's kubeconfig", `bad kubeconfig ${kubeconfig}`, ["made-inside-token", keyData.slice(0, 40)]],
    [
      "a tenant's kubeconfig inside JSON inside JSON",
      JSON.stringify(JSON.stringify({ user: { token: "made-inside-token", "client-key-data": keyData } })),
      ["made-inside-token", keyData.slice(0, 40)],
    ],
    [
      "a tenant's kubeconfig in a Secret",
      `data: {kubeconfig: ${Buffer.from(kubeconfig).toString("base64")}}`,
      [Buffer.from(kubeconfig).toString("base64").slice(40, 90)],
    ],
    ["a token", `401 for Bearer ${jwt}, or ${jwt}`, ["c2lnbmF0dXJl", "eyJzdWIi"]],
    ["a generated API key", 'apiKey: "made-inside-key" and api_key=made-inside-key', ["made-inside"]],
    ["a password in a URL", "postgres://tenant:made-inside@db.acme.svc:5432/x", ["made-inside"]],
    ["a password without a user in a URL", "redis://:made-inside@cache:6379", ["made-inside"]],
    ["a token before a host", "cloning https://ghp_made1inside@git.example/x", ["made1inside"]],
    [
      "a password of several words",
      `{"password":"made inside, here","user":"acme"}`,
      ["made", "inside, here"],
    ],
    ["such a one in JSON", JSON.stringify(JSON.stringify({ passphrase: "two words" })), ["two", "words"]],
    ["such a one that is cut off", 'passphrase: "two words', ["two", "words"]],
    ["what HTTP calls basic", "authorization: Basic YWNtZTptYWRlLWluc2lkZQ==", ["YWNtZTptYWRlLWluc2lkZQ"]],
    ["npm's older form of it", "//registry.example/:_auth=YWNtZTptYWRl", ["YWNtZTptYWRl"]],
    ["an access key", "AWS_SECRET_ACCESS_KEY=MadeInside1234", ["MadeInside1234"]],
  ]
  for (const [what, thrown, secrets] of planted) {
    it(`(${what}) is not repeated, though nobody has told of it`, () => {
      const left = redaction([])(`Error: before ${thrown}\n    at after (/x.js:1:2)`)
      for (const each of secrets) {
        assert.include(`Error: before ${thrown}`.replaceAll("\\n", "\n"), each)
        assert.notInclude(left, each)
      }
      assert.match(left, /^Error: before [\s\S]*\[redacted\]/)
    })
  }

  it("is not seen in names, digests, paths and addresses", () => {
    const words = [
      `image ghcr.io/di-framework/wash@sha256:${"0123456789abcdef".repeat(4)}`,
      "urn:pulumi:prod::platform::kubernetes:core/v1:Secret::platform-operator-tenant-auth",
      "/var/lib/platform-operator/instances/team-a/one/project/node_modules/@di-framework/platform/dist/x.js",
      'Secret "wasmcloud/hosts" not found; secrets "x" is forbidden; https://vcluster.pi-a.svc:443/api',
      `Basic authentication failed for git@git.example; docker://wasmcloud-host@sha256:${"0123456789abcdef".repeat(4)}`,
    ]
    for (const each of words) assert.strictEqual(redaction([])(each), each)
  })
})
