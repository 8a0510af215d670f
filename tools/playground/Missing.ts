// What the simulated API does not serve, and kubectl has a command for: each says so, and what does the same.
import { reasonless } from "../../test/twins/kubernetes/Status.ts"

const missing: ReadonlyArray<readonly [path: RegExp, words: string]> = [
  [
    /^\/apis\/[^/]+\/[^/]+\/namespaces\/(?<namespace>[^/]+)\/(?<kind>[^/]+)\/(?<name>[^/]+)\/scale$/,
    'serves no scale (kubectl scale). kubectl -n $namespace patch $kind $name --type=merge -p \'{"spec":{"replicas":<number>}}\' does the same',
  ],
  [
    /^\/api\/v1\/namespaces\/(?<namespace>[^/]+)\/serviceaccounts\/(?<name>[^/]+)\/token$/,
    "makes no tokens (kubectl create token). With the kubeconfig in .playground/ one may act for others: --as=system:serviceaccount:$namespace:$name",
  ],
]

/** Throws an `ApiStatus` for what is not there. `url` with its query. */
export const refuseMissing = (url: string): void => {
  const path = decodeURIComponent(url.split("?")[0] ?? "")
  for (const [pattern, words] of missing) {
    const groups = pattern.exec(path)?.groups
    if (groups === undefined) continue
    const named = words.replaceAll(/\$(\w+)/g, (_, part: string) => groups[part] ?? "")
    throw reasonless(`this cluster is simulated, and its API ${named}. make run CLUSTER=local has a real one`)
  }
}
