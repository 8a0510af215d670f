import { assert, it } from "@effect/vitest"
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
