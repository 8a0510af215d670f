// Lists and watches: pages, selections, versions of the past and the future.
import type { Scenario } from "../Scenario.ts"
import { ask, said, type Target, until, watched } from "./Target.ts"

const core = "/api/v1/namespaces"
const maps = `${core}/watches/configmaps`
const merge = "application/merge-patch+json"
const partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"

const make = (name: string, labels: object, as?: string) =>
  ask(
    `${name} is made`,
    { method: "POST", path: `${maps}?fieldManager=m`, body: { metadata: { name, labels } } },
    as,
  )

/** What comes after a page that was remembered. */
const after = (name: string, page: string, query: string) =>
  ask(name, (memory) => ({
    method: "GET",
    path: `${maps}?${query}&continue=${encodeURIComponent(said(memory, page, "continue"))}`,
  }))

const from = (query: string, accept?: string) => (memory: Parameters<typeof said>[0]) => ({
  method: "GET" as const,
  path: `${maps}?watch=1&resourceVersion=${said(memory, "first", "resourceVersion")}${query}`,
  ...(accept !== undefined && { accept }),
})

export const watches: Scenario<Target> = {
  name: "watches",
  steps: [
    ask("a namespace", { method: "POST", path: core, body: { metadata: { name: "watches" } } }),
    make("a", { l: "1" }, "first"),
    make("b", { l: "2" }),
    make("c", { l: "1" }),
    ask("all", { method: "GET", path: maps }),
    ask("a page", { method: "GET", path: `${maps}?limit=2` }, "page"),
    after("the page after it", "page", "limit=2"),
    ask("a smaller page", { method: "GET", path: `${maps}?limit=1` }, "smaller"),
    after("a page between others", "smaller", "limit=1"),
    after("all that is left", "smaller", "fieldSelector="),
    after("a page of another version", "page", "limit=2&resourceVersion=1"),
    ask("out of the cache whole", { method: "GET", path: `${maps}?limit=2&resourceVersion=0` }),
    ask("a page not older than", (memory) => ({
      method: "GET",
      path: `${maps}?limit=2&resourceVersion=${said(memory, "first", "resourceVersion")}&resourceVersionMatch=NotOlderThan`,
    })),
    ask("of the future", {
      method: "GET",
      path: `${maps}?resourceVersion=999999999&resourceVersionMatch=NotOlderThan`,
    }),
    ask("by label", { method: "GET", path: `${maps}?labelSelector=l%3D1` }),
    ask("by labels", { method: "GET", path: `${maps}?labelSelector=l%20in%20(1%2C2)%2Cl!%3D2` }),
    ask("a page of a selection", { method: "GET", path: `${maps}?labelSelector=l%3D1&limit=1` }, "selection"),
    after("the rest of the selection", "selection", "labelSelector=l%3D1&limit=1"),
    ask("by name", { method: "GET", path: `${maps}?fieldSelector=metadata.name%3Db` }),
    ask("by a field that it has not", { method: "GET", path: `${maps}?fieldSelector=foo%3Dbar` }),
    ask("as metadata", {
      method: "GET",
      path: maps,
      accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    }),
    ask("b changes", {
      method: "PATCH",
      path: `${maps}/b?fieldManager=m`,
      contentType: merge,
      body: { metadata: { labels: { l: "1" } } },
    }),
    ask("a leaves the selection", {
      method: "PATCH",
      path: `${maps}/a?fieldManager=m`,
      contentType: merge,
      body: { metadata: { labels: { l: "9" } }, data: { x: "y" } },
    }),
    ask("c goes", { method: "DELETE", path: `${maps}/c` }),
    after("a page shows what was there at the first", "smaller", "limit=2"),
    watched("a watch tells it all", from("")),
    watched("of a selection what enters and leaves it", from("&labelSelector=l%3D1")),
    watched("of one name", from("&fieldSelector=metadata.name%3Db")),
    watched("as metadata", from("", partial)),
    watched("without a version what there is", { method: "GET", path: `${maps}?watch=1` }),
    watched("with version 0 too", { method: "GET", path: `${maps}?watch=1&resourceVersion=0` }),
    watched("from the future nothing", { method: "GET", path: `${maps}?watch=1&resourceVersion=999999999` }),
    until("no token", { method: "GET", path: `${maps}?limit=1&continue=abc` }, 400),
  ],
}
