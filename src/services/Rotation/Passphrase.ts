// Pulumi's passphrase provider (read in the source of 3.274.1, and held to the real one by a test): AES-256-GCM under a key
// that PBKDF2 makes of passphrase and salt. A salt is written with a known word encrypted under that key, which proves the
// passphrase: `v1:<salt>:v1:<nonce>:<ciphertext>`; a value is `v1:<nonce>:<ciphertext>`. All of it in base64.
import { createCipheriv, createDecipheriv, pbkdf2, randomBytes } from "node:crypto"
import { Context, Effect, Option, Redacted } from "effect"

const iterations = 1_000_000
const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16
const knownWord = "pulumi"

const forms = {
  value: /^v1:([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)$/,
  salt: /^v1:([A-Za-z0-9+/=]+):(v1:[A-Za-z0-9+/=]+:[A-Za-z0-9+/=]+)$/,
}

/** What is encrypted under one passphrase and one salt. */
export interface Key {
  /** Nothing when it was encrypted under another key, or was changed. */
  readonly open: (value: string) => Option.Option<string>
  /** Another text each time. */
  readonly seal: (plain: string) => string
}

export interface Salt {
  /** In base64. */
  readonly seed: string
  readonly proof: string
}

export const parseSalt = (text: string): Option.Option<Salt> => {
  const [, seed, proof] = forms.salt.exec(text) ?? []
  return seed === undefined || proof === undefined ? Option.none() : Option.some({ seed, proof })
}

const keyOf = (key: Uint8Array): Key => ({
  open: (value) => {
    const [, nonce, text] = forms.value.exec(value) ?? []
    if (nonce === undefined || text === undefined) return Option.none()
    const sealed = Buffer.from(text, "base64")
    try {
      const decipher = createDecipheriv("aes-256-gcm", key, Buffer.from(nonce, "base64"), {
        authTagLength: tagBytes,
      })
      decipher.setAuthTag(sealed.subarray(-tagBytes))
      return Option.some(
        Buffer.concat([decipher.update(sealed.subarray(0, -tagBytes)), decipher.final()]).toString("utf8"),
      )
    } catch {
      return Option.none()
    }
  },
  seal: (plain) => {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv("aes-256-gcm", key, nonce, { authTagLength: tagBytes })
    const sealed = Buffer.concat([cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()])
    return `v1:${nonce.toString("base64")}:${sealed.toString("base64")}`
  },
})

/** A third of a second of one core, on purpose. */
export const deriveKey = (passphrase: Redacted.Redacted, seed: string): Effect.Effect<Key> =>
  Effect.callback((resume) => {
    const salt = Buffer.from(seed, "base64")
    pbkdf2(Redacted.value(passphrase), salt, iterations, keyBytes, "sha256", (error, key) =>
      resume(error === null ? Effect.succeed(keyOf(key)) : Effect.die(error)),
    )
  })

/** How keys are derived: tests that rotate a hundred times remember them. */
export const Derivation = Context.Reference<typeof deriveKey>("Rotation/Derivation", {
  defaultValue: () => deriveKey,
})

/** This key is that of the salt: its passphrase is the right one. */
export const proves = (key: Key, { proof }: Salt): boolean => Option.contains(key.open(proof), knownWord)

/** The salt as it is written under this key. */
export const saltText = (key: Key, seed: string): string => `v1:${seed}:${key.seal(knownWord)}`
