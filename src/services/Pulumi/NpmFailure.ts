// What a failure of npm is called: which field asked for what, what the registry said to it, and the way out. Of npm's own
// words only what no sentence here stands for is passed on. They were read from npm 11 against a registry that fails.
import { platformPackageName } from "./Layout.ts"
import { makeRoom, tail } from "./Messages.ts"

export interface NpmFailure {
  readonly message: string
  /** That the same will be said again until somebody changes something: no try a moment later helps. */
  readonly final: boolean
}

export interface NpmRequest {
  /** `spec.version`. */
  readonly version: string
  /** Undefined: npm's own default, or what the npmrc says. */
  readonly registry: string | undefined
  /** Whether the version was fetched before, and what it consisted of then is known. */
  readonly isKnown: boolean
}

/** What Node calls a certificate that it does not take (read in its documentation: `tls`, "X509 certificate error codes"). */
const certificateTrouble =
  /\bcode ((?:UNABLE_TO_[A-Z_]+|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|CERT_[A-Z_]+|INVALID_CA|ERR_TLS_CERT_ALTNAME_INVALID))\b/

/** Credentials that npm may repeat: those in an address. The ones of an npmrc it never prints (it masks them). */
export const withoutCredentials = (words: string): string =>
  words.replaceAll(/\/\/[^/@\s]+@/g, "//[redacted]@")

/** What npm says to everybody, of itself, or to its own authors: where its log is, how to log in, its stack, its fields. */
const noise =
  /^(?:A complete log of this run|Log files were not written|\s+at |code E|errno |syscall |type: |requiredBy: |\s+[a-z]+: |\}|In most cases|Note that you can also|tarball, folder, http|If you |Please try again|To correct this|https:\/\/www\.npmjs\.com\/forgot|npm login)/

const plain = (words: string): string =>
  tail(
    words
      .split("\n")
      .map((line) => line.replace(/^npm (?:error|warn)(?: (?:network|notarget|enoent|\d{3}(?= |$)))?/i, ""))
      .filter((line) => line.trim() !== "" && !noise.test(line.replace(/^ /, "")))
      .map((line) => line.trim())
      .join("\n"),
  )

/** `left-pad@9.9.9`, where it is something that the platform's package needs. */
const dependencyIn = (words: string): string | undefined => {
  const named =
    /No matching version found for (\S+@\S+?)\.?$/m.exec(words)?.[1] ??
    /'([^'\s]+@[^'\s]+)'/.exec(words)?.[1] ??
    ""
  return named === "" || named.startsWith(`${platformPackageName}@`) ? undefined : named
}

const addressIn = (words: string): string | undefined =>
  /\b(?:GET|request to|timeout at:) (https?:\/\/[^\s,]+)/.exec(words)?.[1]

/** As the registry or the network gave it: `ECONNREFUSED 10.0.0.7:4873`. */
const reasonIn = (words: string, code: string): string =>
  /\breason: (?:connect |getaddrinfo )?([^\n]+)/.exec(words)?.[1] ?? code

/** Takes all that npm printed. */
export const npmFailure = (printed: string, request: NpmRequest): NpmFailure => {
  const { version, isKnown } = request
  const words = withoutCredentials(printed)
  const it = `${platformPackageName} ${version}`
  const asked = addressIn(words)
  const registry =
    request.registry === undefined ? "The registry" : `The registry ${withoutCredentials(request.registry)}`
  const at = asked === undefined ? "" : ` (GET ${asked})`
  const certificate = certificateTrouble.exec(words)?.[1]
  const dependency = dependencyIn(words)
  const told = (message: string): NpmFailure => ({ message, final: false })
  const missing = (message: string): NpmFailure => ({ message, final: true })
  if (certificate !== undefined) {
    return told(
      `The certificate of the registry is not trusted (${certificate}); give the certificate of its authority to the operator (npm.caBundle of its chart, or cafile in its npmrc), or correct the registry's`,
    )
  }
  const code = /\bcode (E[A-Z0-9_]+)/.exec(words)?.[1] ?? /\b(ENOSPC|EDQUOT)\b/.exec(words)?.[1] ?? ""
  switch (code) {
    case "ETARGET":
    case "ENOVERSIONS":
      return missing(
        dependency === undefined
          ? `${registry} has no version ${version} of ${platformPackageName}, which spec.version asks for; set spec.version to one that it has, or publish that version there`
          : `${registry} does not have ${dependency}, which ${it} (spec.version) needs; publish it there, or set spec.version to a version that does without`,
      )
    case "E404":
      if (asked?.endsWith(".tgz") === true) {
        return missing(
          `${registry} lists what ${it} (spec.version) consists of, and does not have all of it: 404 for ${asked}; mend the registry, or its mirror`,
        )
      }
      return missing(
        dependency === undefined
          ? `${registry} has no package ${platformPackageName}, of which spec.version asks for ${version}: 404${at}; check that --npm-registry, or the registry of this scope in the operator's npmrc, is the one it is published in, and the credentials for it: many registries say the same to whom they do not know`
          : `${registry} does not have ${dependency}, which ${it} (spec.version) needs: 404${at}; publish it there, or let the operator's npmrc name the registry of its scope`,
      )
    case "E401":
    case "E402":
    case "E403":
      return told(
        `The registry refuses to hand out ${it}: ${code.slice(1)}${at}; check the credentials of the operator's npmrc (npm.existingSecret of its chart)`,
      )
    case "E429":
      return told(
        `The registry answers no more for now: 429, too many requests${at}; it is tried again. A mirror of one's own has no such limit`,
      )
    case "ENOSPC":
    case "EDQUOT":
      return told(`The disk is full (${/\b(?:ENOSPC|EDQUOT): [^\n]+/.exec(words)?.[0] ?? code}); ${makeRoom}`)
    case "EINTEGRITY":
      return told(
        isKnown
          ? `The registry has another content for ${it}, or for what it needs, than when this version was first fetched; it is not used. A version never changes: publish it under another one, or look at the registry. ${plain(words)}`
          : `What the registry sent differs from what it promised; clear what is between, a proxy for one. ${plain(words)}`,
      )
    case "ENOTFOUND":
    case "ECONNREFUSED":
    case "ECONNRESET":
    case "EHOSTUNREACH":
    case "ENETUNREACH":
    case "ETIMEDOUT":
    case "ERR_SOCKET_TIMEOUT":
    case "EAI_AGAIN":
      return told(
        `The registry does not answer: ${reasonIn(words, code)}${at}; check --npm-registry and the operator's egress to it`,
      )
    default:
      return told(
        /^E5\d\d$/.test(code)
          ? `The registry is not well: it answered ${code.slice(1)}${at}; it is tried again`
          : `npm could not install ${it} (spec.version), for a reason the operator does not know; what it said follows. ${plain(words)}`,
      )
  }
}
