// A state directory with everything in it that Pulumi encrypts, of two instances, as the engine writes it.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gunzipSync, gzipSync } from "node:zlib"
import { Effect, Option, Redacted } from "effect"
import {
  deriveKey,
  type Key,
  parseSalt,
  proves,
  saltText,
} from "../../../src/services/Rotation/Passphrase.ts"
import { sealedIn } from "../../../src/services/Rotation/Sealed.ts"

export const passphrases = {
  old: Redacted.make("the passphrase before"),
  next: Redacted.make("the passphrase after"),
  other: Redacted.make("somebody else's passphrase"),
}

const known = new Map<string, Key>()
/** Keys take a third of a second each. */
export const remembered: typeof deriveKey = (passphrase, seed) =>
  Effect.suspend(() => {
    const name = `${Redacted.value(passphrase)} ${seed}`
    const key = known.get(name)
    return key === undefined
      ? Effect.tap(deriveKey(passphrase, seed), (derived) => Effect.sync(() => known.set(name, derived)))
      : Effect.succeed(key)
  })

const seeds = { one: "5z+6rlTXF/U=", before: "+Y4ypL3cLf4=", two: "AAECAwQFBgc=" }
const stateOf = (salt: string, key: Key) => ({
  manifest: { time: "2026-01-01T00:00:00Z" },
  secrets_providers: { type: "passphrase", state: { salt } },
  resources: [
    {
      urn: "urn:pulumi:instance::platform-instance::pulumi:pulumi:Stack::platform-instance-instance",
      type: "pulumi:pulumi:Stack",
      outputs: {
        plain: "v1:is no secret",
        kubeconfigs: {
          "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
          ciphertext: key.seal('"planted-secret"'),
        },
      },
    },
  ],
})
/** Numbers as the engine writes them, which JavaScript would write in another way. */
const asWritten = (value: unknown) => JSON.stringify(value).replace(/}$/, ',"big":1.0e+21}')
const checkpoint = (latest: unknown) => asWritten({ version: 3, checkpoint: { stack: "s", latest } })

export interface Scene {
  readonly stateDir: string
  readonly files: () => ReadonlyArray<string>
  readonly textOf: (file: string) => string
  readonly remove: () => void
}

const write = (file: string, text: string) => {
  mkdirSync(join(file, ".."), { recursive: true })
  writeFileSync(file, /\.gz/.test(file) ? gzipSync(text) : text, { mode: 0o600 })
}

export const textOf = (file: string): string => {
  const bytes = readFileSync(file)
  return (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString("utf8")
}

/** Everything is encrypted under `passphrase`. */
export const makeScene = Effect.fnUntraced(function* (passphrase = passphrases.old) {
  const stateDir = mkdtempSync(join(tmpdir(), "rotation-"))
  const instances = join(stateDir, "instances")
  for (const [name, seed] of Object.entries({ one: seeds.one, two: seeds.two })) {
    const key = yield* remembered(passphrase, seed)
    const salt = () => saltText(key, seed)
    const root = join(instances, "team-a", name)
    const backend = join(root, "backend/.pulumi")
    write(
      join(root, "project/Pulumi.instance.yaml"),
      `encryptionsalt: ${salt()}\nconfig:\n  platform-instance:plain: v1:x\n  platform-instance:secret:\n    secure: ${key.seal("planted-secret")}\n`,
    )
    write(join(root, "instance.json"), '{"format":1,"uid":"uid","version":"v1:x"}\n')
    write(join(backend, "meta.yaml"), "version: 1\n")
    const stack = join(backend, "stacks/platform-instance/instance.json")
    write(`${stack}.gz`, checkpoint(stateOf(salt(), key)))
    write(`${stack}.gz.attrs`, '{"md5":"x"}')
    if (name === "two") continue
    write(`${stack}.gz.bak`, checkpoint(stateOf(salt(), key)))
    write(`${stack}.bak`, checkpoint(stateOf(salt(), key)))
    const history = join(backend, "history/platform-instance/instance/instance-1")
    write(`${history}.checkpoint.json.gz`, checkpoint(stateOf(salt(), key)))
    const config = { "a:b": { secure: key.seal("planted-secret") } }
    write(`${history}.history.json.gz`, asWritten({ kind: "update", config }))
    write(join(root, "exports/state-1.json.gz"), asWritten({ version: 3, deployment: stateOf(salt(), key) }))
    write(join(root, "state-before-repair.json"), asWritten({ version: 3, deployment: stateOf(salt(), key) }))
    write(join(root, "state-damaged"), checkpoint(stateOf(salt(), key)).slice(0, -20))
    const other = yield* remembered(passphrase, seeds.before)
    write(
      join(root, "kept/cluster/.pulumi/stacks/platform-instance/instance.json.gz"),
      checkpoint(stateOf(saltText(other, seeds.before), other)),
    )
  }
  const files = () =>
    readdirSync(instances, { recursive: true, withFileTypes: true })
      .flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : []))
      .toSorted()
  const scene: Scene = {
    stateDir,
    files,
    textOf,
    remove: () => rmSync(stateDir, { recursive: true }),
  }
  return scene
})

export const damaged = "state-damaged"

/** What is encrypted of a file opens as a whole with one of these passphrases: which. Its secrets, opened. */
export const opened = Effect.fnUntraced(function* (
  file: string,
  by: ReadonlyArray<keyof typeof passphrases>,
) {
  const found = sealedIn(textOf(file), file.endsWith(".yaml") ? "yaml" : "json")
  if (Option.isNone(found)) return undefined
  const { salts, values } = found.value
  if (salts.size + values.size === 0) return undefined
  for (const name of by) {
    const keys = yield* Effect.forEach(Object.values(seeds), (seed) => remembered(passphrases[name], seed))
    const proved = [...salts].every((salt) =>
      Option.exists(parseSalt(salt), (parsed) => keys.some((key) => proves(key, parsed))),
    )
    const plain = [...values].map((value) => keys.flatMap((key) => Option.toArray(key.open(value))).at(0))
    if (proved && plain.every((each) => each !== undefined)) return { name, plain }
  }
  return { name: "none" as const, plain: [] }
})
