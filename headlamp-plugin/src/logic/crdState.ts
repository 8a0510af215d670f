// Why there may be no instances to be seen, or not the one: read off the refusal itself, so that
// nobody needs rights on CRDs.
import { crd } from "../generated/crd.ts"
import { refusalOf } from "./refusal.ts"
import { say, type Words } from "./words.ts"

export interface Absence {
  readonly kind: "noCrd" | "notFound" | "forbidden" | "other"
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

/** Of one instance. `name`: what it is called on the page. A 404 about an object names it; one without a CRD does not. */
export const absenceOfOne = (error: unknown, name: string): Absence => {
  const { kind, message } = refusalOf(error)
  if (kind === "notFound" && /" not found$/.test(message))
    return { kind: "notFound", words: say("There is no instance {{name}}.", { name }), message }
  if (kind === "notFound") return absenceOf(error)
  if (kind === "forbidden" || kind === "unauthorized")
    return { kind: "forbidden", words: say("You may not see the instance {{name}}.", { name }), message }
  return { kind: "other", words: say("The instance {{name}} cannot be read.", { name }), message }
}
