import { assert, describe, it } from "@effect/vitest"
import { firstCause, redact } from "../../../src/services/Helm/HelmMessage.ts"

describe("the first cause", () => {
  it("is what stands behind Helm's own prefix", () => {
    const stderr = "Error: INSTALLATION FAILED: another operation (install/upgrade/rollback) is in progress\n"
    assert.strictEqual(firstCause(stderr), "another operation (install/upgrade/rollback) is in progress")
  })

  it("is not hidden by the log that Helm writes before it", () => {
    const stderr =
      'level=WARN msg="unable to find something"\nlevel=ERROR msg="uninstall: failed"\nError: UPGRADE FAILED: conflict with "kubectl"\n'
    assert.strictEqual(firstCause(stderr), 'conflict with "kubectl"')
  })

  it("is one line, however many Helm wrote", () => {
    const stderr = "Error: values don't meet the specifications:\nvcluster:\n- at '/a': got string\n"
    assert.strictEqual(
      firstCause(stderr),
      "values don't meet the specifications: vcluster: - at '/a': got string",
    )
  })

  it("is the whole text when Helm came to no error line", () => {
    assert.strictEqual(firstCause("panic: oh\ngoroutine 1\n"), "panic: oh goroutine 1")
  })

  it("is at most 1,024 characters, cut at a word", () => {
    const cause = firstCause(`Error: ${"word ".repeat(1000)}`)
    assert.isAtMost(cause.length, 1024)
    assert.isTrue(cause.endsWith("word…"))
  })
})

describe("redaction", () => {
  const jwt = `eyJ${"a".repeat(20)}.${"b".repeat(20)}.${"c".repeat(20)}`
  for (const [what, text, secret] of [
    ["a token of a service account", `failed: ${jwt} rejected`, jwt],
    ["a bearer header", "Authorization: Bearer abcdef012345 refused", "abcdef012345"],
    ["a password in a URL", "Get https://user:hunter22@host/path", "hunter22"],
    ["a field of a kubeconfig", 'client-key-data: "TFMwdExTMUNSVWRK"', "TFMwdExTMUNSVWRK"],
    ["a field of JSON", '{"password":"swordfish"}', "swordfish"],
    ["a key in PEM", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE"],
    ["a long run of base64", `data: ${"QUJDRA".repeat(20)}`, "QUJDRA"],
  ] as const) {
    it(`takes out ${what}`, () => {
      assert.notInclude(redact(text), secret)
      assert.include(redact(text), "[redacted]")
    })
  }

  it("leaves what an administrator needs: names, paths, hosts, digests", () => {
    const text =
      'Secret "sh.helm.release.v1.vcluster.v1" in pi-team-one-abcdefghijkl: Get "https://10.0.0.1:443/api/v1": ' +
      "image ghcr.io/loft-sh/vcluster-oss@sha256:8b4f270aaaa9d20d6d6eef1e637fb6485fdbacf7f1f856c8ba770c4a5873d654"
    assert.strictEqual(redact(text), text)
  })
})
