// The resource as Headlamp knows resources.
import { KubeObject } from "@kinvolk/headlamp-plugin/lib/k8s/cluster"
import { apiVersion, kind, plural } from "./logic/schema.ts"
import { DETAIL, LIST } from "./routes.ts"

// biome-ignore lint/suspicious/noExplicitAny: what is in it is read through logic/, which takes nothing for granted.
export class PlatformInstance extends KubeObject<any> {
  static override kind = kind
  static override apiName = plural
  static override apiVersion = apiVersion
  static override isNamespaced = true

  static override get detailsRoute() {
    return DETAIL
  }
  static get listRoute() {
    return LIST
  }
}
