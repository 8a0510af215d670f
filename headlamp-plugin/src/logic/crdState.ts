// Why there may be no list of instances: read off the refusal of the list itself, so that nobody needs rights on CRDs.
import { crd } from "../generated/crd.ts"
import { refusalOf } from "./refusal.ts"
import { say, type Words } from "./words.ts"

export interface Absence {
  readonly kind: "noCrd" | "forbidden" | "other"
  readonly words: Words
  readonly message: string
}

export const absenceOf = (error: unknown): Absence => {
  const { kind, message } = refusalOf(error)
  if (kind === "notFound")
    return {
      kind: "noCrd",
      words: say(
        "This cluster has no PlatformInstances: the CRD {{name}} is not installed. It comes with the platform operator's chart.",
        { name: crd.crdName },
      ),
      message,
    }
  if (kind === "forbidden" || kind === "unauthorized")
    return {
      kind: "forbidden",
      words: say(
        "You may not list PlatformInstances in all namespaces. Choose one in the filter, or name those that you may see in Headlamp's settings of the cluster.",
      ),
      message,
    }
  return { kind: "other", words: say("PlatformInstances cannot be listed."), message }
}
