// Takes secrets out of what a program said, in every form in which one can come by: as it is, inside JSON, in
// base64, in a URL. What a kubeconfig carries encoded is looked for decoded too. What a program has made itself, and
// nobody knows here, is taken out by its shape.
import { REDACTED, withoutSecrets } from "../../schema/Secrets.ts"
import { parseYaml } from "../Kubernetes/Yaml.ts"

/** Shorter values would blank ordinary words; no generated secret is that short. */
const shortest = 4

const forms = (secret: string): ReadonlyArray<string> => {
  const base64 = Buffer.from(secret, "utf8").toString("base64")
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    base64,
    base64.replace(/=+$/, ""),
    Buffer.from(secret, "utf8").toString("base64url"),
    encodeURIComponent(secret),
  ]
}

/** A redaction of the given secrets, each line of one that has several too, and of what has the shape of one. */
export const redaction = (secrets: Iterable<string>): ((text: string) => string) => {
  const all = new Set<string>()
  for (const secret of secrets) {
    for (const part of [secret, secret.trim(), ...secret.split("\n").map((line) => line.trim())]) {
      if (part.length >= shortest) for (const form of forms(part)) all.add(form)
    }
  }
  // Longest first: a part of a longer secret would leave the rest of it standing.
  const ordered = [...all].sort((a, b) => b.length - a.length)
  return (text) => {
    const known = ordered.reduce((result, secret) => result.replaceAll(secret, REDACTED), text)
    return withoutSecrets(known)
  }
}

const secretKeys = new Set(["token", "password", "client-key-data", "client-certificate-data"])

/** The values of a kubeconfig that let somebody in, as they stand and decoded. */
export const kubeconfigSecrets = (kubeconfig: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  const walk = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return
    for (const [key, inner] of Object.entries(value)) {
      if (typeof inner !== "string") walk(inner)
      else if (secretKeys.has(key)) {
        found.push(inner)
        // PEM: its first and last lines are in every certificate, and no secret.
        if (key.endsWith("-data")) {
          const decoded = Buffer.from(inner, "base64").toString("utf8")
          found.push(...decoded.split("\n").filter((line) => line.length > 0 && !line.startsWith("-----")))
        }
      }
    }
  }
  try {
    walk(parseYaml(kubeconfig))
  } catch {
    found.push(kubeconfig)
  }
  return found
}
