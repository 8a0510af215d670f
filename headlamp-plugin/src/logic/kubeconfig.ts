// The kubeconfig out of its Secret.
import { crd } from "../generated/crd.ts"
import { valueAt } from "./schema.ts"

/** The text of the Secret's key; undefined when there is none, or it is no base64. */
export const kubeconfigOf = (secret: unknown): string | undefined => {
  const encoded = valueAt(secret, ["data", crd.kubeconfigKey])
  if (typeof encoded !== "string") return undefined
  try {
    // `atob` alone gives bytes as characters.
    return new TextDecoder().decode(Uint8Array.from(atob(encoded), (byte) => byte.charCodeAt(0)))
  } catch {
    return undefined
  }
}
