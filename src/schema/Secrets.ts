// What lets somebody in, by its shape: taken out of what a program said, wherever its own secrets are not known. Pure.

export const REDACTED = "[redacted]"

/** A quote, or one inside JSON inside JSON. */
const quote = String.raw`\\*["']`
const names =
  "token|password|passwd|passphrase|secret|_auth|(?:private|api|access)[-_]?key|(?:client|tls)[-_.](?:key|certificate)(?:-data)?"
const named = String.raw`(?:${names})(?:${quote})?\s*(?::(?!:)|=)\s*`

/** Every shape takes too much rather than too little. */
const shapes: ReadonlyArray<readonly [RegExp, string]> = [
  // A private key, whatever of it is there.
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, REDACTED],
  // A JSON Web Token.
  [/eyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*/g, REDACTED],
  // Base64 of anything as long as a key: one in PEM has lines of 64. A SHA-256 in hex is none.
  [/(?<![\w+/])(?![0-9a-f]{64}(?![\w+/]))[A-Za-z0-9+/]{60,}={0,2}/g, REDACTED],
  // `"password":"two words"`: up to the quote that ends it.
  [new RegExp(String.raw`(${named}(${quote}))(?!\2)(?:(?!\2)[^\n])+`, "gi"), `$1${REDACTED}`],
  // `token: x`, `api_key=x`.
  [new RegExp(String.raw`(${named})[^\s"'\\,}\[]{4,}`, "gi"), `$1${REDACTED}`],
  [/(bearer\s+)[^\s[]{8,}/gi, `$1${REDACTED}`],
  // Base64 of `user:password`, and no word that follows "basic". Without modifiers, which an older Node.js cannot read
  // (test/cli/oldNode.test.ts).
  [/(\b[Bb][Aa][Ss][Ii][Cc]\s+)(?=[A-Za-z]*(?:[\d+/=]|[a-z][A-Z]))[A-Za-z\d+/]{8,}={0,2}/g, `$1${REDACTED}`],
  // `https://user:password@host`, and a token alone before the host.
  [/(\/\/[^\s/:@]*:)[^\s/@[]+(?=@)/g, `$1${REDACTED}`],
  [/(\/\/)[^\s/:@[]{8,}(?=@(?!sha256:))/g, `$1${REDACTED}`],
]

/** The text without anything that has the shape of a secret. */
export const withoutSecrets = (text: string): string =>
  shapes.reduce((result, [shape, instead]) => result.replace(shape, instead), text)
