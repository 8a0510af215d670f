// What a failure is called: the first sentence says what happened and what to do. The program's own words
// follow, redacted, with at most 1 KiB of their end.
import { tailAtWord } from "../../schema/Text.ts"

const tailBytes = 1024

/** The end of a text, at most 1 KiB of UTF-8, cut at a line or a word where one is near. */
export const tail = (text: string): string => tailAtWord(text.trim(), tailBytes)

/** The way out of a full disk. */
export const makeRoom = "make room in the operator's state claim or its temporary folders"

const kinds: ReadonlyArray<readonly [RegExp, string]> = [
  [
    /stack is currently locked/i,
    "The state is locked by another process; wait for its end, or end it if it should not be there",
  ],
  [
    /incorrect passphrase|passphrase must be set/i,
    "The passphrase does not open this instance's state; put back the passphrase Secret the state was made with, or, where one from before a rotation came back, run kubectl pi rotate-passphrase",
  ],
  [
    /unexpected end of JSON input|failed to load checkpoint/i,
    "The state file is damaged; the next try puts back the newest of its copies that can be read",
  ],
  [/no space left on device|ENOSPC|disk quota exceeded|EDQUOT/i, `The disk is full; ${makeRoom}`],
  [
    /no resource plugin|could not (find|load) plugin|resource plugin .* (missing|not found)/i,
    "A provider plugin is missing; allow the operator to reach the plugin host, or use an image that carries it",
  ],
  [
    // In Go's words, and in those of this operator's own client.
    /configured Kubernetes cluster is unreachable|unreachable cluster|connection refused|TLS handshake timeout|i\/o timeout|no such host|no route to host|\bE(CONNREFUSED|CONNRESET|HOSTUNREACH|NETUNREACH|TIMEDOUT|NOTFOUND|AI_AGAIN)\b|no answer within|socket hang up|other side closed/i,
    "The instance's cluster does not answer; look at its vCluster pod and at NetworkPolicies in between",
  ],
  [
    /exceeded quota|quota exceeded/i,
    "A resource quota refuses what the platform needs; raise the quota named below",
  ],
  [
    /admission webhook .* denied|ValidatingAdmissionPolicy|violates PodSecurity|is forbidden/i,
    "The instance's cluster refuses an object of the platform; change the policy or the permission named below",
  ],
  [
    /certificate signed by unknown authority|x509:|Unauthorized|certificate has expired|self-signed certificate|unable to verify the first certificate/i,
    "The instance's cluster does not accept the operator's credentials; its kubeconfig may have been rotated",
  ],
  [
    /timed out waiting|context deadline exceeded|timeout while waiting|resource .* was not ready/i,
    "A resource of the platform did not become ready in time; look at the object named below, in the instance",
  ],
  [
    /SIGKILL|signal: killed|exit (code|status) 137|out of memory|heap limit/i,
    "The operation was killed, probably for lack of memory; raise the operator's memory limit",
  ],
  [
    /SIGTERM|exit (code|status) 143|signal: terminated|signal: interrupt/i,
    "The operation was ended from outside; it is tried again",
  ],
  [
    /Cannot find module|SyntaxError|TypeError|ReferenceError|unhandled (exception|error)|Nothing was deleted/i,
    "The platform's program failed; check spec.version and spec.platform",
  ],
]

/** The first sentence, by what the words say. */
export const firstSentence = (words: string, step: string, version: string): string =>
  kinds.find(([pattern]) => pattern.test(words))?.[1] ??
  `The step "${step}" of platform ${version} failed for a reason the operator does not know and is tried again; what it said follows`

/** What a program says of itself when it throws: where, and on which Node. */
const traces: ReadonlyArray<RegExp> = [
  // `    at readConfig (/state/config.js:40:11)`
  /^[ \t]+at .*:\d+:\d+\)?$\n?/gm,
  // The place, the source line and a mark under it, as Node prints them before an error that nobody caught.
  /^(?:node:|file:|\/)\S*:\d+\n.*\n\s*\^+\n+/gm,
  /^Node\.js v\d+.*$\n?/gm,
]

/** Advice of the CLI's that must not be followed: the one removes live locks, the other what was not reachable for once. */
const advice: ReadonlyArray<RegExp> = [
  / or delete the lock file with `?pulumi cancel`?/g,
  / ?If the cluster (?:was|has been) deleted, [^.]*PULUMI_K8S_DELETE_UNREACHABLE[^.]*\.?/g,
]

/** How the Automation API tells of a command that failed: what the CLI said, twice, each below the command's line (its `cmd.js`). */
const failedCommand = /code: -2\n stdout: \n stderr: ([\s\S]*?)\n err\?: Error: \1\n*/g
/** Where something follows, which is what it said. */
const commandLine = /^Command failed with exit code \d+: .*\n(?=\s*\S)/gm

const withoutNoise = (words: string): string =>
  [...traces, ...advice, commandLine].reduce(
    (rest, noise) => rest.replace(noise, ""),
    words.replace(failedCommand, "$1"),
  )

const sandboxHint =
  "The sandbox of packages keeps a program to the files of its own instance; if it needs others, --sandbox=false lifts it (docs/security.md)."

/**
 * The message, and on a line of its own what the sandbox may have to do with it, when the words of a program in it read as
 * if it was refused a file. Landlock refuses with EACCES, and a move between folders with EXDEV as well (landlock(7)).
 */
export const withSandboxHint = (message: string, words: string, sandboxed: boolean): string =>
  sandboxed && /\bEACCES\b|permission denied|\bEXDEV\b|cross-device link/i.test(words)
    ? `${message}\n${sandboxHint}`
    : message

/** First sentence, then the redacted tail of the words, then on a line of its own what the sandbox may have to do with it. */
export const failureMessage = (options: {
  readonly step: string
  readonly version: string
  readonly words: string
  readonly redact: (text: string) => string
  /** Whether the words are those of a program in the sandbox. Default: false. */
  readonly sandboxed?: boolean
}): string => {
  // Redacted before it is cut: a secret cut in two would not be recognised.
  const words = tail(withoutNoise(options.redact(options.words)))
  const first = firstSentence(options.words, options.step, options.version)
  const message = words === "" ? `${first}.` : `${first}. ${words}`
  return withSandboxHint(message, options.words, options.sandboxed === true)
}
