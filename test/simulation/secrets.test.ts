// What is secret is in no log, Event, condition, span, metric, argv, environment or plain file, whatever happens: secrets
// that the operator handles, in every form, and such as the package has made, of which nobody has told it.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, References } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { redaction } from "../../src/services/Pulumi/Redact.ts"
import { packVersion } from "../fixtures/platform/pack.mts"
import { makeSpans, type Spans } from "../support/spans.ts"
import type { Files } from "../twins/files/Files.ts"
import { runSimulation, until } from "../twins/simulation/Simulation.ts"
import { paths } from "../twins/world/Image.ts"
import type { Operator } from "../twins/world/Operators.ts"
import { key, makeWorld, type World } from "../twins/world/World.ts"

const clientSecret = 'planted "client" secret/1'
const passphrase = "planted correct horse"

/** Made by the program while it runs: in its text they stand backwards. */
const made = {
  privateKey: "MIIEvQIBADANBgkqhkiG9wPLANTEDKEYLINEaZ09xYqTnU3vBs7LwPd5RfGh2Jk",
  apiKey: "planted-api-key-7c1e",
  password: "planted-database-password",
  token: "planted-tenant-token-of-acme",
  webToken: "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.cGxhbnRlZC1zaWduYXR1cmU",
}
const backwards = (text: string) => [...text].reverse().join("")

/** What a version of the package throws, as an expression of its program. */
const thrown: ReadonlyArray<readonly [what: string, expression: string]> = [
  [
    "the client secret",
    "[secret, JSON.stringify({ secret }), encodeURIComponent(secret), base64(secret)].join(' | ')",
  ],
  ["the passphrase", "[passphrase, base64(passphrase), base64(passphrase).replace(/=/g, '')].join(' | ')"],
  ["the kubeconfig", "kubeconfig.slice(kubeconfig.indexOf('users:'))"],
  ["the kubeconfig in base64", "base64(kubeconfig).slice(-700)"],
  ["a generated key", "pem"],
  ["a generated key in JSON", "JSON.stringify(JSON.stringify({ tls: pem }))"],
  [
    "an API key and a password",
    "'apiKey: ' + made.apiKey + ', postgres://acme:' + made.password + '@db:5432 password=' + made.password",
  ],
  ["a tenant's kubeconfig", "JSON.stringify({ users: [{ name: 'dev', user: { token: made.token } }] })"],
  [
    "a tenant's kubeconfig in YAML",
    "['users:', '- name: dev', '  user:', '    token: ' + made.token, '    client-key-data: ' + base64(pem)].join('\\n')",
  ],
  ["a web token", "'401 for Bearer ' + made.webToken + '; ' + made.webToken"],
]
const program = (expression: string) => `
const { readFileSync } = require("node:fs")
const pulumi = require("@pulumi/pulumi")
const { readConfig } = require("./config.js")
const { makeBase } = require("./resources/platform.js")
const config = readConfig()
const { namespace, version } = makeBase(config)
const forwards = (text) => [...text].reverse().join("")
const made = ${JSON.stringify(Object.fromEntries(Object.entries(made).map(([name, value]) => [name, backwards(value)])))}
for (const name of Object.keys(made)) made[name] = forwards(made[name])
const bytes = (text) => { const all = []; for (const c of unescape(encodeURIComponent(text))) all.push(c.charCodeAt(0)); return all }
const base64 = (text) => {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  const all = bytes(text)
  let said = ""
  for (let at = 0; at < all.length; at += 3) {
    const [a, b = 0, c = 0] = all.slice(at, at + 3)
    const four = [a >> 2, ((a & 3) << 4) | (b >> 4), ((b & 15) << 2) | (c >> 6), c & 63].map((digit) => digits[digit])
    said += four.slice(0, Math.min(3, all.length - at) + 1).join("").padEnd(4, "=")
  }
  return said
}
const pem = "-----BEGIN EC PRIVATE KEY-----\\n" + made.privateKey + "\\n-----END EC PRIVATE KEY-----\\n"
const secret = new pulumi.Config().get("tenantAuthClientSecret")
const passphrase = readFileSync("${paths.passphrase}/passphrase", "utf8")
const kubeconfig = readFileSync(config.kubeconfig, "utf8")
exports.schemaVersion = 2
exports.namespace = namespace.metadata.name
exports.tenants = version.urn.apply(() => { throw new Error("boom " + (${expression}) + " bang") })
`

const versionOf = (index: number) => `6.1.${index}`

const publish = (world: World) => {
  const { name, manifest, files } = packVersion("6.0.22")
  const [like] = world.registry.find(name)
  thrown.forEach(([, expression], index) => {
    const version = versionOf(index)
    world.registry.publish({
      name,
      version,
      files: {
        ...files,
        "package.json": JSON.stringify({ ...manifest, version }),
        "dist/existing.js": program(expression),
      },
      dependencies: like?.dependencies ?? {},
    })
  })
}

const base64 = (text: string) => Buffer.from(text).toString("base64")

/** Every text that must not be found, by what it is. */
const forbidden = (kubeconfig: string): ReadonlyArray<readonly [string, string]> => {
  const keyData = /client-key-data: (\S+)/.exec(kubeconfig)?.[1] ?? assert.fail("the kubeconfig has no key")
  const known: ReadonlyArray<readonly [string, string]> = [
    ["client secret", clientSecret],
    ["passphrase", passphrase],
    ["kubeconfig key", Buffer.from(keyData, "base64").toString()],
    ["kubeconfig key, encoded", keyData],
  ]
  const forms = known.flatMap(
    ([what, text]): ReadonlyArray<readonly [string, string]> => [
      [what, text],
      [`${what} in JSON`, JSON.stringify(text).slice(1, -1)],
      [`${what} in base64`, base64(text).replace(/=+$/, "")],
      [`${what} in a URL`, encodeURIComponent(text)],
    ],
  )
  const inside = Object.entries(made).map(([what, text]): readonly [string, string] => [
    `made inside: ${what}`,
    text,
  ])
  const encoded = base64(`-----BEGIN EC PRIVATE KEY-----\n${made.privateKey}`)
  return [
    ...forms,
    ...inside,
    ["made inside: key in base64", encoded.slice(50, 100)],
    ["made inside: signature", "cGxhbnRlZC1zaWduYXR1cmU"],
    // Of the tenants' kubeconfigs, a secret output of the program.
    ["made inside: output", "stand-in-token-acme-dev"],
    ["kubeconfig in base64", base64(kubeconfig).slice(-120, -20)],
  ]
}

const filesBelow = (files: Files, folder: string): ReadonlyArray<string> =>
  files.list(folder).flatMap((name) => {
    const path = folder === "/" ? `/${name}` : `${folder}/${name}`
    const entry = files.lstat(path)
    return entry?.kind === "directory" ? filesBelow(files, path) : entry?.kind === "file" ? [path] : []
  })

/** Where texts were seen in which something must not be. */
const makeWatch = (world: World) => {
  const seen = new Map<string, Set<string>>()
  const note = (where: string, text: string) => {
    const texts = seen.get(where) ?? new Set()
    seen.set(where, texts.add(text))
  }
  const open = { files: 0, processes: 0 }
  world.host.subscribe(({ kind, object }) => {
    if (kind.kind !== Kinds.Secret.kind) note(`${kind.kind} of the host`, JSON.stringify(object))
  })
  const lookAtProcesses = (operator: Operator | undefined) => {
    for (const { facts } of operator?.container()?.processes ?? []) {
      open.processes += 1
      note("argv", facts.argv.join("\0"))
      note("environment", JSON.stringify(facts.env))
    }
  }
  /** The passphrase is mounted, and the kubeconfig lies in memory for the length of an operation, for this user alone. */
  const lookAtFiles = (operator: Operator | undefined) => {
    const files = operator?.container()?.files.files
    if (files === undefined) return
    for (const path of [paths.state, paths.tmp, paths.memory, "/home"].flatMap((each) =>
      filesBelow(files, each),
    )) {
      const isOwn = path.startsWith(`${paths.memory}/`) && ((files.lstat(path)?.mode ?? 0) & 0o777) === 0o600
      if (isOwn && path.endsWith("/kubeconfig")) open.files += 1
      else note(`file ${path}`, Buffer.from(files.readFile(path)).toString("latin1"))
    }
  }
  const found = (texts: ReadonlyArray<readonly [string, string]>, trace: string) => {
    note("log", trace)
    return [...seen].flatMap(([where, all]) =>
      texts.flatMap(([what, text]) =>
        [...all].some((each) => each.includes(text)) ? [`${what}: ${where}`] : [],
      ),
    )
  }
  const lookAtMetrics = ({ scrape }: Operator) =>
    Effect.map(scrape, (text) =>
      note(
        "metrics",
        Option.getOrElse(text, () => ""),
      ),
    )
  const lookAtSpans = ({ all }: Spans) => {
    for (const span of all) note("span", JSON.stringify(span))
  }
  return { found, lookAtFiles, lookAtMetrics, lookAtProcesses, lookAtSpans, open, seen }
}

const oauth = { namespace: key.namespace, name: "oauth" }
const tenantAuth = {
  image: `ghcr.io/di-framework/tenant-auth@sha256:${"a".repeat(64)}`,
  issuer: "https://id.example",
  clientId: "console",
  clientSecretRef: { name: "oauth", key: "clientSecret" },
}

describe("F52 what is secret", () => {
  it("is told nowhere, when all goes well and when all else does not", { timeout: 600_000 }, () => {
    let texts: ReadonlyArray<readonly [string, string]> = []
    // As `main` has them redacted.
    const spans = makeSpans({ redact: redaction([]) })
    const { result, trace } = runSimulation(
      Effect.gen(function* () {
        const world = yield* makeWorld({ spans })
        world.passphrase.text = Option.some(passphrase)
        publish(world)
        const watch = makeWatch(world)
        const putSecret = () =>
          world.admin.apply(Kinds.Secret, {
            apiVersion: "v1",
            kind: "Secret",
            metadata: oauth,
            stringData: { clientSecret },
          })
        putSecret()
        let operator: Operator | undefined
        let calls = 0
        operator = yield* world.startOperator({
          metrics: true,
          onCall: () => {
            calls += 1
            watch.lookAtProcesses(operator)
            if (calls % 40 === 0) watch.lookAtFiles(operator)
          },
        })
        const ready = until(() => world.isReady(), "40 minutes", "the instance is Ready")
        const failed = (what: string) =>
          until(
            () => {
              const { generation } = world.instance()?.metadata ?? {}
              const status = world.status()
              return status?.phase === "Failed" && status.observedGeneration === generation
            },
            "40 minutes",
            `${what} has failed`,
          )
        const message = () =>
          world.status()?.conditions?.find(({ type }) => type === "Installed")?.message ?? ""
        world.apply({
          platform: {
            tenants: [{ name: "acme" }],
            users: [{ name: "dev", memberships: [{ tenant: "acme", role: "developer" }] }],
            tenantAuth,
          },
        })
        yield* ready
        const source = world.admin.get(Kinds.Secret, {
          namespace: world.hostNamespace(),
          name: "vc-vcluster",
        })
        const data: unknown = source?.data
        const encoded = typeof data === "object" && data !== null ? Reflect.get(data, "config") : undefined
        texts = forbidden(Buffer.from(String(encoded), "base64").toString())
        // The client secret has come where it belongs.
        const inner = world.inner()?.as("kubernetes-admin")
        const secrets = inner?.list(Kinds.Secret) ?? []
        const copied = secrets.find(({ metadata }) => metadata.name === "platform-operator-tenant-auth")
        assert.include(JSON.stringify(copied), base64(clientSecret))

        const messages: Array<string> = []
        for (const [index, [what]] of thrown.entries()) {
          world.edit({ spec: { version: versionOf(index) } })
          yield* failed(what)
          messages.push(message())
        }
        for (const [index, each] of messages.entries()) {
          assert.match(each, /boom [\s\S]*\[redacted\][\s\S]* bang/, thrown[index]?.[0])
        }
        world.edit({ spec: { version: "6.0.22" } })
        yield* ready

        // A registry that refuses, a secret that is gone, a passphrase that is another, a kill in the middle of an up.
        world.registry.answer(401)
        world.edit({ spec: { version: "6.0.21" } })
        yield* failed("an upgrade without a registry")
        world.registry.mend()
        world.admin.delete(Kinds.Secret, oauth)
        world.edit({ spec: { version: "6.0.22" } })
        yield* failed("an install without its secret")
        putSecret()
        world.passphrase.text = Option.some("planted another")
        yield* watch.lookAtMetrics(operator)
        yield* operator.kill("container")
        world.edit({ spec: { platform: { users: [] } } })
        yield* failed("an install with another passphrase")
        world.passphrase.text = Option.some(passphrase)
        yield* watch.lookAtMetrics(operator)
        yield* operator.kill("container")
        yield* ready
        world.edit({ spec: { version: "6.0.91" } })
        yield* Effect.sleep("30 seconds")
        yield* watch.lookAtMetrics(operator)
        watch.lookAtFiles(operator)
        yield* operator.kill("container")
        yield* Effect.sleep("10 seconds")
        watch.lookAtFiles(operator)
        world.edit({ spec: { version: "6.0.21" } })
        yield* ready
        yield* Effect.sleep("40 minutes")
        watch.lookAtFiles(operator)
        yield* watch.lookAtMetrics(operator)
        world.remove()
        yield* until(() => world.instance() === undefined, "20 minutes", "the instance is gone")
        watch.lookAtFiles(operator)
        yield* watch.lookAtMetrics(operator)
        return watch
        // What helm, npm and the engine say is in the log, too.
      }).pipe(Effect.provideService(References.MinimumLogLevel, "Debug")),
      { seed: 1, maxSteps: 20_000_000 },
    )
    result.lookAtSpans(spans)
    // It was looked where something is, and while it was there.
    assert.isAbove(result.open.files, 0)
    for (const [where, what] of [
      ["argv", "config"],
      ["environment", "PULUMI_CONFIG_PASSPHRASE_FILE"],
      ["Event of the host", "InstallFailed"],
      ["PlatformInstance of the host", "[redacted]"],
      ["ConfigMap of the host", "history.json"],
      ["metrics", "platforminstance_info"],
      ["span", "boom "],
      ["span", "pulumi.up"],
    ] as const) {
      assert.isTrue(
        [...(result.seen.get(where) ?? [])].some((text) => text.includes(what)),
        `${where} ${what}`,
      )
    }
    assert.include(trace.text(), "operation failed")
    assert.include(trace.text(), "tool output")
    assert.deepStrictEqual(result.found(texts, trace.text()), [])
  })
})
