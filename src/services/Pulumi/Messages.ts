// What a failure is called: the first sentence says what happened and what to do. The program's own words
// follow, redacted, with at most 1 KiB of their end.

const tailBytes = 1024

/** The end of a text, at most 1 KiB of UTF-8, cut at a line or a word where one is near. */
export const tail = (text: string): string => {
  const trimmed = text.trim()
  const bytes = Buffer.from(trimmed, "utf8")
  if (bytes.length <= tailBytes) return trimmed
  // The ellipsis takes three bytes; a character cut in two decodes to a replacement mark, which is dropped.
  const cut = bytes
    .subarray(bytes.length - tailBytes + 3)
    .toString("utf8")
    .replace(/^\uFFFD+/, "")
  return `…${cut.replace(/^\S{0,80}\s/, "")}`
}

const kinds: ReadonlyArray<readonly [RegExp, string]> = [
  [
    /stack is currently locked/i,
    "The state is locked by another process; wait for its end, or end it if it should not be there",
  ],
  [
    /incorrect passphrase|passphrase must be set/i,
    "The passphrase does not open this instance's state; put back the passphrase Secret the state was made with",
  ],
  [
    /unexpected end of JSON input|failed to load checkpoint/i,
    "The state file is damaged; put back its .bak file or the newest checkpoint of the history",
  ],
  [
    /no space left on device|ENOSPC|disk quota exceeded|EDQUOT/i,
    "The disk is full; make room in the operator's state claim or its temporary folders",
  ],
  [
    /no resource plugin|could not (find|load) plugin|resource plugin .* (missing|not found)/i,
    "A provider plugin is missing; allow the operator to reach the plugin host, or use an image that carries it",
  ],
  [
    /configured Kubernetes cluster is unreachable|connection refused|TLS handshake timeout|i\/o timeout|no such host|no route to host/i,
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
    /certificate signed by unknown authority|x509:|Unauthorized/i,
    "The instance's cluster does not accept the operator's credentials; its kubeconfig may have been rotated",
  ],
  [
    /timed out waiting|context deadline exceeded|timeout while waiting|resource .* was not (ready|successfully)/i,
    "A resource of the platform did not become ready in time; look at the object named below, in the instance",
  ],
  [
    /SIGKILL|exit code 137|out of memory|heap limit/i,
    "The operation was killed, probably for lack of memory; raise the operator's memory limit",
  ],
  [
    /SIGTERM|exit code 143|signal: terminated|signal: interrupt/i,
    "The operation was ended from outside; it is tried again",
  ],
  [
    /Cannot find module|SyntaxError|TypeError|ReferenceError|unhandled exception|Nothing was deleted/i,
    "The platform's program failed; check spec.version and spec.platform",
  ],
]

/** The first sentence, by what the words say. */
export const firstSentence = (words: string, step: string, version: string): string =>
  kinds.find(([pattern]) => pattern.test(words))?.[1] ??
  `The step "${step}" of platform ${version} failed; what it said follows`

/** First sentence, then the redacted tail of the words. */
export const failureMessage = (options: {
  readonly step: string
  readonly version: string
  readonly words: string
  readonly redact: (text: string) => string
}): string => {
  // Redacted before it is cut: a secret cut in two would not be recognised.
  const words = tail(options.redact(options.words))
  const first = firstSentence(options.words, options.step, options.version)
  return words === "" ? `${first}.` : `${first}. ${words}`
}
