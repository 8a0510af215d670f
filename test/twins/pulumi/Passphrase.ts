// The passphrase secrets provider: a salt that proves the passphrase, and values encrypted under both. The format is the
// real one's; the key is derived in one step, because nobody guesses passphrases here.
import { createCipheriv, createDecipheriv, createHash } from "node:crypto"
import { remember } from "./remember.ts"

export interface Keeper {
  /** `v1:<salt>:v1:<nonce>:<ciphertext of a known word>` */
  readonly salt: string
  readonly encrypt: (plain: string) => string
  /** Throws for what was encrypted under another passphrase. */
  readonly decrypt: (encrypted: string) => string
}

const knownWord = "pulumi"

const keeper = (passphrase: string, seed: string): Omit<Keeper, "salt"> => {
  const key = createHash("sha256").update(`${passphrase}\0${seed}`).digest()
  return {
    encrypt: remember((plain) => {
      const nonce = createHash("sha256").update(key).update(plain).digest().subarray(0, 12)
      const cipher = createCipheriv("aes-256-gcm", key, nonce)
      const sealed = Buffer.concat([cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()])
      return `v1:${nonce.toString("base64")}:${sealed.toString("base64")}`
    }, 64),
    decrypt: remember((encrypted) => {
      const [, nonce = "", text = ""] = encrypted.split(":")
      const sealed = Buffer.from(text, "base64")
      const decipher = createDecipheriv("aes-256-gcm", key, Buffer.from(nonce, "base64"))
      decipher.setAuthTag(sealed.subarray(-16))
      return Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]).toString("utf8")
    }, 64),
  }
}

export const makeKeeper = (passphrase: string, random: Uint8Array): Keeper => {
  const seed = Buffer.from(random).toString("base64")
  const own = keeper(passphrase, seed)
  return { ...own, salt: `v1:${seed}:${own.encrypt(knownWord)}` }
}

const open = (passphrase: string, salt: string): Keeper | undefined => {
  const [, seed = "", ...proof] = salt.split(":")
  const own = keeper(passphrase, seed)
  try {
    return own.decrypt(proof.join(":")) === knownWord ? { ...own, salt } : undefined
  } catch {
    return undefined
  }
}

const openWith = remember((passphrase: string) =>
  remember((salt: string) => ({ keeper: open(passphrase, salt) })),
)

/** Undefined when the passphrase is not the one of the salt. */
export const openKeeper = (passphrase: string, salt: string): Keeper | undefined =>
  openWith(passphrase)(salt).keeper
