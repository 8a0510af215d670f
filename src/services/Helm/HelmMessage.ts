// What Helm said went wrong, fit for a condition: its first cause, on one line, without secrets.

const placeholder = "[redacted]"
const longest = 1024

/** Shapes a secret can have in an error of Helm or of the API server, whatever its value. */
const secretShapes: ReadonlyArray<readonly [RegExp, string]> = [
  [/-----BEGIN [^-]+-----[\s\S]*?(-----END [^-]+-----|$)/g, placeholder],
  // A JSON web token: service account tokens are such.
  [/\beyJ[\w-]{10,}\.[\w-]+\.[\w-]*/g, placeholder],
  [/\b(bearer|basic) [\w.~+/=-]{8,}/gi, `$1 ${placeholder}`],
  [/(\w+:\/\/)[^\s/@:]+:[^\s/@]+@/g, `$1${placeholder}@`],
  [
    /\b((?:[\w-]*(?:password|passphrase|token|secret|key-data))["']?\s*[:=]\s*["']?)[^\s"',}]{4,}/gi,
    `$1${placeholder}`,
  ],
  // A long run of base64 that is no hexadecimal digest.
  [/(?<![\w/+:])(?![0-9a-f]{64}\b)[A-Za-z0-9+/]{64,}={0,2}/g, placeholder],
]

/** A text without anything that has the shape of a secret. */
export const redact = (text: string): string =>
  secretShapes.reduce((result, [shape, replacement]) => result.replaceAll(shape, replacement), text)

const cut = (text: string): string => {
  if (text.length <= longest) return text
  const head = text.slice(0, longest - 1)
  return `${head.slice(0, Math.max(head.lastIndexOf(" "), longest / 2))}…`
}

/**
 * The cause that Helm's standard error names. Helm 4 logs there too (`level=WARN msg=…`), before the one line
 * `Error: <VERB> FAILED: <cause>`; the log is all there is when it died before it came to that.
 */
export const firstCause = (stderr: string): string => {
  const error = /^Error: (?:INSTALLATION FAILED: |UPGRADE FAILED: )?([\s\S]*)/m.exec(stderr)?.[1]
  return cut(
    redact(error ?? stderr)
      .replaceAll(/\s+/g, " ")
      .trim(),
  )
}
