// A whole list, read page by page.
import { Effect, Option } from "effect"
import type { ApiFailure } from "./ApiFailure.ts"
import type { KubeObject, ListOptions, ResourceKind } from "./Kubernetes.ts"
import type { ListPage } from "./Objects.ts"
import type { ListFrom, PageRequest } from "./Requests.ts"

export type PageReader = (
  kind: ResourceKind,
  options: ListOptions,
  page: PageRequest,
) => Effect.Effect<ListPage, ApiFailure>

export interface Listed {
  readonly items: ReadonlyArray<KubeObject>
  /** The version that the list shows, from which a watch goes on. */
  readonly version: string
}

/**
 * Fails as its pages do, with one exception: when the token of a further page has expired, the list is read again, in
 * one piece, so that a list that takes longer than the server keeps its history comes to an end all the same.
 */
export const listAll = Effect.fnUntraced(function* (
  read: PageReader,
  kind: ResourceKind,
  options: ListOptions,
  from: ListFrom,
) {
  const items: Array<KubeObject> = []
  let page = yield* read(kind, options, { from, paged: true })
  while (true) {
    items.push(...page.items)
    if (Option.isNone(page.next)) return { items, version: page.resourceVersion } satisfies Listed
    const further = yield* read(kind, options, { from, paged: true, next: page.next.value }).pipe(
      Effect.asSome,
      Effect.catchIf(
        (failure) => failure.expired,
        () => Effect.succeedNone,
      ),
    )
    if (Option.isNone(further)) {
      items.length = 0
      page = yield* read(kind, options, { from, paged: false })
    } else {
      page = further.value
    }
  }
})
