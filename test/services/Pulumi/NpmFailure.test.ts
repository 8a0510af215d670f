// A failure of npm is told in words of ours: the field, the value, what the registry said, the way out.
import { assert, describe, it } from "@effect/vitest"
import { npmFailure } from "../../../src/services/Pulumi/NpmFailure.ts"

const registry = "http://npm.internal:4873"
const request = { version: "6.0.99", registry, isKnown: false }

/** What npm 11 printed for a registry that fails in this way. */
const missing = (what: string, url: string) =>
  `npm error code E404
npm error 404 Not Found - GET ${url} - Not found
npm error 404
npm error 404  The requested resource '${what}' could not be found or you do not have permission to access it.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git url.
npm error Log files were not written due to the config logs-max=0`
const noTarget = (what: string) =>
  `npm error code ETARGET
npm error notarget No matching version found for ${what}.
npm error notarget In most cases you or one of your dependencies are requesting a package version that doesn't exist.
npm error Log files were not written due to the config logs-max=0`
const status = (line: string) =>
  `npm error code E${line.slice(0, 3)}\nnpm error ${line} - GET ${registry}/@di-framework%2fplatform - no`

const kinds: ReadonlyArray<readonly [kind: string, words: string, told: string, final: boolean]> = [
  [
    "no such version",
    noTarget("@di-framework/platform@6.0.99"),
    `The registry ${registry} has no version 6.0.99 of @di-framework/platform, which spec.version asks for; set spec.version to one that it has, or publish that version there`,
    true,
  ],
  [
    "no such version of what it needs",
    noTarget("left-pad@9.9.9"),
    `The registry ${registry} does not have left-pad@9.9.9, which @di-framework/platform 6.0.99 (spec.version) needs; publish it there, or set spec.version to a version that does without`,
    true,
  ],
  [
    "no such package",
    missing("@di-framework/platform@6.0.99", `${registry}/@di-framework%2fplatform`),
    `The registry ${registry} has no package @di-framework/platform, of which spec.version asks for 6.0.99: 404 (GET ${registry}/@di-framework%2fplatform); check that --npm-registry, or the registry of this scope in the operator's npmrc, is the one it is published in, and the credentials for it: many registries say the same to whom they do not know`,
    true,
  ],
  [
    "no such package of what it needs",
    missing("@other/left-pad@9.9.9", `${registry}/@other%2fleft-pad`),
    `The registry ${registry} does not have @other/left-pad@9.9.9, which @di-framework/platform 6.0.99 (spec.version) needs: 404 (GET ${registry}/@other%2fleft-pad); publish it there, or let the operator's npmrc name the registry of its scope`,
    true,
  ],
  [
    "a full disk",
    `npm error code ENOSPC
npm error syscall write
npm error errno -28
npm error nospc ENOSPC: no space left on device, write
npm error nospc There appears to be insufficient space on your system to finish.
npm error nospc Clear up some disk space and try again.`,
    "The disk is full (ENOSPC: no space left on device, write); make room in the operator's state claim or its temporary folders",
    false,
  ],
  [
    "no archive",
    missing(
      `@di-framework/platform@${registry}/@di-framework/platform/-/platform-6.0.99.tgz`,
      `${registry}/@di-framework/platform/-/platform-6.0.99.tgz`,
    ),
    `The registry ${registry} lists what @di-framework/platform 6.0.99 (spec.version) consists of, and does not have all of it: 404 for ${registry}/@di-framework/platform/-/platform-6.0.99.tgz; mend the registry, or its mirror`,
    true,
  ],
  [
    "not authorised",
    `npm error code E401
npm error Incorrect or missing password.
npm error If you were trying to login, change your password, create an authentication token or enable two-factor authentication then that means you likely typed your password in incorrectly.
npm error Please try again, or recover your password at:
npm error   https://www.npmjs.com/forgot`,
    "The registry refuses to hand out @di-framework/platform 6.0.99: 401; check the credentials of the operator's npmrc (npm.existingSecret of its chart)",
    false,
  ],
  [
    "forbidden",
    status("403 403 Forbidden"),
    `The registry refuses to hand out @di-framework/platform 6.0.99: 403 (GET ${registry}/@di-framework%2fplatform); check the credentials of the operator's npmrc (npm.existingSecret of its chart)`,
    false,
  ],
  [
    "asked too often",
    status("429 Too Many Requests"),
    `The registry answers no more for now: 429, too many requests (GET ${registry}/@di-framework%2fplatform); it is tried again. A mirror of one's own has no such limit`,
    false,
  ],
  [
    "not well",
    status("503 Service Unavailable"),
    `The registry is not well: it answered 503 (GET ${registry}/@di-framework%2fplatform); it is tried again`,
    false,
  ],
  [
    "refused",
    `npm error code ECONNREFUSED
npm error syscall connect
npm error errno ECONNREFUSED
npm error FetchError: request to ${registry}/@di-framework%2fplatform failed, reason: connect ECONNREFUSED 127.0.0.1:4998
npm error     at ClientRequest.<anonymous> (/npm/node_modules/minipass-fetch/lib/index.js:130:14) {
npm error   code: 'ECONNREFUSED',
npm error   requiredBy: '.'
npm error }
npm error If you are behind a proxy, please make sure that the 'proxy' config is set properly.  See: 'npm help config'`,
    `The registry does not answer: ECONNREFUSED 127.0.0.1:4998 (GET ${registry}/@di-framework%2fplatform); check --npm-registry and the operator's egress to it`,
    false,
  ],
  [
    "not found by its name",
    `npm error code ENOTFOUND
npm error network request to http://nowhere.invalid/@di-framework%2fplatform failed, reason: getaddrinfo ENOTFOUND nowhere.invalid
npm error network This is a problem related to network connectivity.`,
    "The registry does not answer: ENOTFOUND nowhere.invalid (GET http://nowhere.invalid/@di-framework%2fplatform); check --npm-registry and the operator's egress to it",
    false,
  ],
  [
    "silent",
    `npm error code ETIMEDOUT\nnpm error network timeout at: ${registry}/@di-framework%2fplatform`,
    `The registry does not answer: ETIMEDOUT (GET ${registry}/@di-framework%2fplatform); check --npm-registry and the operator's egress to it`,
    false,
  ],
  [
    "unknown",
    `npm error code EWHATEVER
npm error Something that nobody has seen before
npm error     at somewhere (/npm/lib/index.js:1:1)
npm error A complete log of this run can be found in: /home/.npm/_logs/debug.log`,
    "npm could not install @di-framework/platform 6.0.99 (spec.version), for a reason the operator does not know; what it said follows. Something that nobody has seen before",
    false,
  ],
]

describe("a failure of npm", () => {
  it.each(kinds)("%s", (_, words, message, final) => {
    assert.deepStrictEqual(npmFailure(words, request), { message, final })
  })

  it("names no registry that the operator was not given", () => {
    const { message } = npmFailure(noTarget("@di-framework/platform@6.0.99"), {
      ...request,
      registry: undefined,
    })
    assert.match(message, /^The registry has no version 6\.0\.99 of @di-framework\/platform, /)
  })

  it("says no credentials, whether the operator was given them or npm repeats them", () => {
    const hush = "http://me:hush@npm.internal"
    for (const words of [
      missing("@di-framework/platform@6.0.99", `${hush}/@di-framework%2fplatform`),
      noTarget("@di-framework/platform@6.0.99"),
      `npm error code EODD\nnpm error ${hush} is odd`,
    ]) {
      assert.notInclude(npmFailure(words, { ...request, registry: hush }).message, "hush")
    }
  })
})
