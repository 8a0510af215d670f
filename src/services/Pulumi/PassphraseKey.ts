// Pulumi's passphrase provider: how a passphrase and a salt encrypt (seen: CLI 3.274.1). A salt is
// `v1:<salt>:<"pulumi", encrypted>`, a value `v1:<nonce>:<ciphertext and tag>`, each part in base64.
import { createCipheriv, createDecipheriv, pbkdf2, randomBytes } from "node:crypto"
import { Effect } from "effect"

const iterations = 1_000_000
const cipherName = "aes-256-gcm"
const tagBytes = 16
const knownWord = Buffer.from("pulumi")

export interface Key {
  readonly encrypt: (plain: Uint8Array) => string
  /** Undefined for what was encrypted with another key, or is no such value. */
  readonly decrypt: (value: string) => Buffer | undefined
}

const keyOf = (bytes: Uint8Array): Key => ({
  encrypt: (plain) => {
    const nonce = randomBytes(12)
    const cipher = createCipheriv(cipherName, bytes, nonce)
    const sealed = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()])
    return `v1:${nonce.toString("base64")}:${sealed.toString("base64")}`
  },
  decrypt: (value) => {
    const [version, nonce = "", text = "", ...others] = value.split(":")
    const sealed = Buffer.from(text, "base64")
    if (version !== "v1" || others.length > 0 || sealed.length < tagBytes) return undefined
    try {
      const decipher = createDecipheriv(cipherName, bytes, Buffer.from(nonce, "base64"), {
        authTagLength: tagBytes,
      })
      decipher.setAuthTag(sealed.subarray(-tagBytes))
      return Buffer.concat([decipher.update(sealed.subarray(0, -tagBytes)), decipher.final()])
    } catch {
      return undefined
    }
  },
})

/** Gives the key of a salt's own bytes, which are in base64. */
export type Derive = (passphrase: string, seed: string) => Effect.Effect<Key>

/** Takes half a second of CPU time. */
export const derive: Derive = (passphrase, seed) =>
  Effect.callback<Buffer>((resume) => {
    pbkdf2(passphrase, Buffer.from(seed, "base64"), iterations, 32, "sha256", (error, bytes) =>
      resume(error === null ? Effect.succeed(bytes) : Effect.die(error)),
    )
  }).pipe(Effect.map(keyOf))

/** The part of a salt that a key is derived with; undefined when it is none. */
export const seedOf = (salt: string): string | undefined => /^v1:([^:]+):v1:[^:]+:[^:]+$/.exec(salt)?.[1]

export const opensSalt = (key: Key, salt: string): boolean =>
  key.decrypt(salt.split(":").slice(2).join(":"))?.equals(knownWord) === true

export const saltFor = (key: Key, seed: string): string => `v1:${seed}:${key.encrypt(knownWord)}`
