// What kubectl asks of an API server beside objects. That the real kubectl is content with it is tested with the playground.
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { parse } from "yaml"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { humanDuration } from "./Age.ts"
import type { ApiRequest, ApiServer, WatchLine } from "./ApiServer.ts"
import { at, isJson, isList, listOf, objectOf } from "./Json.ts"
import { jsonPath } from "./JsonPath.ts"
import { ProtobufError, readProtobuf } from "./Protobuf.ts"
import { makeApiServer } from "./Server.ts"

const definition = objectOf(parse(readFileSync("crd/platforminstances.yaml", "utf8")))
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
const instances = "/apis/platform.di-framework.dev/v1alpha1/namespaces/default/platforminstances"

const instance = (spec: object = {}) => ({
  apiVersion: "platform.di-framework.dev/v1alpha1",
  kind: "PlatformInstance",
  metadata: { name: "one", namespace: "default" },
  spec: { version: "6.0.22", target: { type: "vcluster" }, ...spec },
})

const served = Effect.map(makeApiServer({ name: "host" }), (api) => {
  const { metadata } = definition
  api.as("admin").create(Kinds.CustomResourceDefinition, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    ...definition,
    metadata: objectOf(metadata),
  })
  return api
})

const ask = (api: ApiServer, request: Partial<ApiRequest> & { readonly path: string }) =>
  api.handle({ user: "admin", method: "GET", ...request })

const post = (api: ApiServer, path: string, body: unknown, user = "admin") =>
  api.handle({ user, method: "POST", path, body })

const deployment = (containers: ReadonlyArray<object>) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "default" },
  spec: {
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers } },
  },
})
const deployments = "/apis/apps/v1/namespaces/default/deployments"

describe("a table", () => {
  it.effect("has the printer columns of a custom resource", () =>
    Effect.gen(function* () {
      const api = yield* served
      post(api, instances, instance())
      const { body } = ask(api, { path: instances, accept: TABLE })
      assert.deepStrictEqual(
        listOf(at(body, "columnDefinitions")).map((it) => at(it, "name")),
        ["Name", "Version", "Installed", "Phase", "Age"],
      )
      const [row] = listOf(at(body, "rows"))
      assert.deepStrictEqual(at(row, "cells"), ["one", "6.0.22", null, null, "0s"])
      assert.strictEqual(at(row, "object", "kind"), "PartialObjectMetadata")
    }),
  )

  it.effect("is what a watch says when a table is asked for", () =>
    Effect.gen(function* () {
      const api = yield* served
      const lines: Array<WatchLine> = []
      const opened = api.watch(
        { user: "admin", method: "GET", path: `${instances}?watch=true&includeObject=Object`, accept: TABLE },
        { onEvent: (line) => lines.push(line), onEnd: () => {} },
      )
      assert.isTrue("close" in opened)
      post(api, instances, instance())
      const [line] = lines
      assert.strictEqual(line?.type, "ADDED")
      const [row] = listOf(at(line?.object, "rows"))
      assert.strictEqual(at(row, "object", "kind"), "PlatformInstance")
    }),
  )

  it.effect("is not what a client gets that asks for objects", () =>
    Effect.gen(function* () {
      const api = yield* served
      assert.strictEqual(at(ask(api, { path: instances }).body, "kind"), "PlatformInstanceList")
    }),
  )
})

describe("a list that comes as a watch", () => {
  it.effect("ends with a bookmark that says so", () =>
    Effect.gen(function* () {
      const api = yield* served
      post(api, instances, instance())
      const lines: Array<WatchLine> = []
      const query =
        "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
      api.watch(
        { user: "admin", method: "GET", path: `${instances}?${query}` },
        { onEvent: (line) => lines.push(line), onEnd: () => {} },
      )
      assert.deepStrictEqual(
        lines.map(({ type }) => type),
        ["ADDED", "BOOKMARK"],
      )
      assert.deepStrictEqual(at(lines[1]?.object, "metadata", "annotations"), {
        "k8s.io/initial-events-end": "true",
      })
    }),
  )
})

describe("discovery", () => {
  it.effect("tells short names and verbs, all groups at once when that is asked for", () =>
    Effect.gen(function* () {
      const api = yield* served
      const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
      const { body, contentType } = ask(api, { path: "/apis", accept })
      assert.include(contentType, "as=APIGroupDiscoveryList")
      const groups = listOf(at(body, "items"))
      const own = groups.find((it) => at(it, "metadata", "name") === "platform.di-framework.dev")
      const [version] = listOf(at(own, "versions"))
      const [resource] = listOf(at(version, "resources"))
      assert.deepStrictEqual(at(resource, "shortNames"), ["pi"])
      assert.deepStrictEqual(at(resource, "responseKind", "kind"), "PlatformInstance")
      const single = ask(api, { path: "/apis/platform.di-framework.dev/v1alpha1" }).body
      assert.deepStrictEqual(at(listOf(at(single, "resources"))[0], "shortNames"), ["pi"])
      assert.strictEqual(at(ask(api, { path: "/apis/apps" }).body, "kind"), "APIGroup")
      assert.strictEqual(ask(api, { path: "/apis/nobody" }).status, 404)
    }),
  )
})

describe("OpenAPI", () => {
  it.effect("describes custom and built-in kinds, and another state of them under another hash", () =>
    Effect.gen(function* () {
      const api = yield* served
      const urlOf = () =>
        String(
          at(
            ask(api, { path: "/openapi/v3" }).body,
            "paths",
            "apis/platform.di-framework.dev/v1alpha1",
            "serverRelativeURL",
          ),
        )
      const url = urlOf()
      const { body } = ask(api, { path: url })
      const name = "dev.di-framework.platform.v1alpha1.PlatformInstance"
      const schema = objectOf(at(body, "components", "schemas"))[name]
      assert.include(
        at(schema, "properties", "spec", "properties", "version", "description"),
        "written out in full",
      )
      const core = ask(api, { path: "/openapi/v3/api/v1" }).body
      const pod = objectOf(at(core, "components", "schemas"))["io.k8s.v1.PodSpec"]
      assert.deepStrictEqual(at(pod, "required"), ["containers"])
      assert.include(at(pod, "properties", "containers", "description"), "containers belonging to the pod")
      const admin = api.as("admin")
      admin.patch(
        Kinds.CustomResourceDefinition,
        { name: "platforminstances.platform.di-framework.dev" },
        {
          type: "json",
          operations: [
            {
              op: "add",
              path: "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/extra",
              value: { type: "string" },
            },
          ],
        },
      )
      assert.notStrictEqual(urlOf(), url)
    }),
  )

  it.effect("in version 2 has the custom kinds, and what may be asked of a write to any", () =>
    Effect.gen(function* () {
      const api = yield* served
      const { body } = ask(api, { path: "/openapi/v2" })
      const definitions = objectOf(at(body, "definitions"))
      const instance = definitions["dev.di-framework.platform.v1alpha1.PlatformInstance"]
      assert.strictEqual(at(instance, "properties", "spec", "properties", "version", "type"), "string")
      const refs = [...JSON.stringify(body).matchAll(/"\$ref":"([^"]*)"/g)].map(([, ref = ""]) => ref)
      assert.isNotEmpty(refs)
      assert.deepStrictEqual(
        refs.filter((ref) => definitions[ref.replace("#/definitions/", "")] === undefined),
        [],
      )
      // A kubectl that finds this kind here merges its lists by what it finds, and there is nothing to find.
      assert.notInclude(Object.keys(definitions), "io.k8s.v1.Pod")
      const patch = at(body, "paths", "/api/v1/namespaces/{namespace}/pods/{name}", "patch")
      assert.include(
        listOf(at(patch, "parameters")).map((parameter) => at(parameter, "name")),
        "dryRun",
      )
      const accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
      const bytes = ask(api, { path: "/openapi/v2", accept })
      assert.strictEqual(bytes.contentType, accept.replace("@", "."))
      assert.instanceOf(bytes.body, Uint8Array)
    }),
  )

  it.effect("has every schema that it refers to", () =>
    Effect.gen(function* () {
      const api = yield* served
      for (const url of Object.keys(objectOf(at(ask(api, { path: "/openapi/v3" }).body, "paths")))) {
        const { body } = ask(api, { path: `/openapi/v3/${url}` })
        const schemas = objectOf(at(body, "components", "schemas"))
        const refs = [...JSON.stringify(body).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(
          ([, name = ""]) => name,
        )
        assert.deepStrictEqual(
          refs.filter((name) => schemas[name] === undefined),
          [],
          url,
        )
      }
    }),
  )
})

describe("field validation", () => {
  it.effect("refuses what the kind does not have, warns of it, or leaves it out", () =>
    Effect.gen(function* () {
      const api = yield* served
      const wrong = instance({ platfrom: {}, platform: { tenants: [{ name: "a", nmae: "b" }] } })
      const strict = post(api, `${instances}?fieldValidation=Strict`, wrong)
      assert.strictEqual(strict.status, 400)
      assert.include(
        at(strict.body, "message"),
        'strict decoding error: unknown field "spec.platform.tenants[0].nmae", unknown field "spec.platfrom"',
      )
      const warned = post(api, `${instances}?fieldValidation=Warn&dryRun=All`, wrong)
      assert.strictEqual(warned.status, 201)
      assert.include(warned.warnings ?? [], 'unknown field "spec.platfrom"')
      const ignored = post(api, `${instances}?fieldValidation=Ignore`, wrong)
      assert.strictEqual(ignored.status, 201)
      assert.isUndefined(ignored.warnings)
      assert.isUndefined(at(ignored.body, "spec", "platfrom"))
    }),
  )

  it.effect("warns of it where the client does not say, as kubectl patch and set do", () =>
    Effect.gen(function* () {
      const api = yield* served
      const unknown = ['unknown field "spec.platfrom"']
      assert.deepStrictEqual(post(api, instances, instance({ platfrom: {} })).warnings, unknown)
      for (const [contentType, body] of [
        ["application/merge-patch+json", { spec: { platfrom: {} } }],
        ["application/json-patch+json", [{ op: "add", path: "/spec/platfrom", value: {} }]],
      ] as const) {
        const patched = api.handle({
          user: "admin",
          method: "PATCH",
          path: `${instances}/one`,
          contentType,
          body,
        })
        assert.strictEqual(patched.status, 200)
        assert.deepStrictEqual(patched.warnings, unknown)
      }
    }),
  )

  it.effect("knows the built-in kinds, in patches and applies, too", () =>
    Effect.gen(function* () {
      const api = yield* served
      const wrong = deployment([{ name: "a", imgae: "x" }])
      const refused = post(api, `${deployments}?fieldValidation=Strict`, wrong)
      assert.include(at(refused.body, "message"), 'unknown field "spec.template.spec.containers[0].imgae"')
      assert.strictEqual(post(api, deployments, deployment([{ name: "a", image: "x" }])).status, 201)
      const patched = api.handle({
        user: "admin",
        method: "PATCH",
        path: `${deployments}/web?fieldValidation=Strict`,
        contentType: "application/merge-patch+json",
        body: { spec: { replica: 2 } },
      })
      assert.strictEqual(patched.status, 422)
      const applied = api.handle({
        user: "admin",
        method: "PATCH",
        path: `${deployments}/web?fieldManager=me&fieldValidation=Strict`,
        contentType: "application/apply-patch+yaml",
        body: wrong,
      })
      assert.include(
        at(applied.body, "message"),
        '.spec.template.spec.containers[name="a"].imgae: field not declared',
      )
    }),
  )
})

describe("a strategic merge patch", () => {
  const patched = (api: ApiServer, containers: ReadonlyArray<unknown>, rest: object = {}) => {
    const { body, status } = api.handle({
      user: "admin",
      method: "PATCH",
      path: `${deployments}/web`,
      contentType: "application/strategic-merge-patch+json",
      body: { spec: { template: { spec: { containers, ...rest } } } },
    })
    const found = at(body, "spec", "template", "spec", "containers")
    return { status, all: listOf(found).map((it) => `${at(it, "name")}=${at(it, "image")}`) }
  }

  it.effect("merges lists item by item, deletes items and orders them", () =>
    Effect.gen(function* () {
      const api = yield* served
      post(
        api,
        deployments,
        deployment([
          { name: "a", image: "1" },
          { name: "b", image: "1" },
        ]),
      )
      assert.deepStrictEqual(patched(api, [{ name: "b", image: "2" }]).all, ["a=1", "b=2"])
      assert.deepStrictEqual(patched(api, [{ name: "c", image: "3" }]).all, ["c=3", "a=1", "b=2"])
      assert.deepStrictEqual(patched(api, [{ name: "a", $patch: "delete" }]).all, ["c=3", "b=2"])
      assert.deepStrictEqual(
        patched(api, [], { "$setElementOrder/containers": [{ name: "b" }, { name: "c" }] }).all,
        ["b=2", "c=3"],
      )
      assert.deepStrictEqual(patched(api, [{ $patch: "replace" }, { name: "d", image: "4" }]).all, ["d=4"])
      assert.strictEqual(patched(api, [{ image: "no name" }]).status, 500)
    }),
  )
})

describe("a deletion", () => {
  it.effect("that says in its body that it is a dry run removes nothing", () =>
    Effect.gen(function* () {
      const api = yield* served
      post(api, instances, instance())
      const remove = (body: object) =>
        api.handle({ user: "admin", method: "DELETE", path: `${instances}/one`, body }).status
      assert.strictEqual(remove({ kind: "DeleteOptions", apiVersion: "v1", dryRun: ["All"] }), 200)
      assert.strictEqual(ask(api, { path: `${instances}/one` }).status, 200)
      assert.strictEqual(remove({ kind: "DeleteOptions", apiVersion: "v1" }), 200)
      assert.strictEqual(ask(api, { path: `${instances}/one` }).status, 404)
    }),
  )
})

describe("events", () => {
  it.effect("are the same objects under both APIs", () =>
    Effect.gen(function* () {
      const api = yield* served
      const admin = api.as("admin")
      admin.create(Kinds.Event, {
        apiVersion: "events.k8s.io/v1",
        kind: "Event",
        metadata: { name: "e", namespace: "default" },
        eventTime: "2026-01-01T00:00:00.000000Z",
        reportingController: "me",
        reportingInstance: "me",
        action: "Do",
        type: "Normal",
        reason: "Done",
        note: "it is done",
        regarding: { kind: "PlatformInstance", name: "one", namespace: "default" },
      })
      const events = "/api/v1/namespaces/default/events"
      const { body } = ask(api, { path: `${events}?fieldSelector=involvedObject.name=one` })
      const [event] = listOf(at(body, "items"))
      assert.strictEqual(at(event, "message"), "it is done")
      assert.strictEqual(at(event, "reportingComponent"), "me")
      assert.deepStrictEqual(
        listOf(at(ask(api, { path: `${events}?fieldSelector=involvedObject.name=two` }).body, "items")),
        [],
      )
      assert.strictEqual(api.handle({ user: "admin", method: "DELETE", path: `${events}/e` }).status, 200)
      assert.isUndefined(admin.get(Kinds.Event, { namespace: "default", name: "e" }))
    }),
  )

  const regarding = {
    kind: "PlatformInstance",
    namespace: "default",
    name: "one",
    uid: "u",
    apiVersion: "platform.di-framework.dev/v1alpha1",
    resourceVersion: "7",
    fieldPath: "spec.containers{a}",
  }
  const about = Object.entries(regarding)
  const told = Effect.map(served, (api) => {
    const event = (name: string, of: object) =>
      api.as("admin").create(Kinds.Event, {
        apiVersion: "events.k8s.io/v1",
        kind: "Event",
        metadata: { name, namespace: "default" },
        eventTime: "2026-01-01T00:00:00.000000Z",
        reportingInstance: "me",
        action: "Do",
        ...of,
      })
    event("e", { type: "Warning", reason: "Done", regarding, reportingController: "me" })
    event("old", {
      type: "Normal",
      reason: "Older",
      deprecatedSource: { component: "kubelet" },
      reportingController: "you",
    })
    return api
  })
  const selected = (api: ApiServer, path: string, selector: string) => {
    const { body, status } = ask(api, { path: `${path}?fieldSelector=${encodeURIComponent(selector)}` })
    return status === 200
      ? listOf(at(body, "items"))
          .map((it) => at(it, "metadata", "name"))
          .join()
      : String(at(body, "message"))
  }

  it.effect("are selected by every field that their API has for it", () =>
    Effect.gen(function* () {
      const api = yield* told
      const core = "/api/v1/namespaces/default/events"
      const newer = "/apis/events.k8s.io/v1/namespaces/default/events"
      for (const [path, selectors] of [
        [
          core,
          [
            ...about.map(([name, value]) => `involvedObject.${name}=${value}`),
            "reportingComponent=me",
            "source=me",
            "type=Warning",
            "reason!=Older",
            "metadata.name=e,metadata.namespace=default",
          ],
        ],
        [
          newer,
          [
            ...about.map(([name, value]) => `regarding.${name}=${value}`),
            "reportingController=me",
            "type=Warning",
          ],
        ],
      ] as const)
        for (const selector of selectors) assert.strictEqual(selected(api, path, selector), "e", selector)
      assert.strictEqual(selected(api, core, "source=kubelet"), "old")
      for (const [path, name] of [
        [core, "regarding.name"],
        [core, "message"],
        [newer, "involvedObject.name"],
        [newer, "source"],
      ] as const)
        assert.strictEqual(selected(api, path, `${name}=one`), `field label not supported: ${name}`)
    }),
  )

  it.effect("are deleted by a selection as their API has it", () =>
    Effect.gen(function* () {
      const api = yield* told
      const path = "/api/v1/namespaces/default/events"
      api.handle({ user: "admin", method: "DELETE", path: `${path}?fieldSelector=involvedObject.name=one` })
      assert.strictEqual(selected(api, path, ""), "old")
    }),
  )
})

describe("a field selector", () => {
  const refused = (api: ApiServer, path: string, selector: string) =>
    String(at(ask(api, { path: `${path}?fieldSelector=${encodeURIComponent(selector)}` }).body, "message"))
  const core = "/api/v1/namespaces/default"

  it.effect("is refused in the words of its kind", () =>
    Effect.gen(function* () {
      const api = yield* served
      for (const [path, selector, words] of [
        [`${core}/pods`, "spec.image=a", "field label not supported: spec.image"],
        [instances, "spec.version=6", "field label not supported: spec.version"],
        ["/apis/batch/v1/jobs", "status.failed=1", 'field label "status.failed" not supported for Job'],
        [
          `${core}/configmaps`,
          "data=a",
          '"data" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ],
        [`${core}/pods`, "nothing", "invalid selector: 'nothing'; can't understand 'nothing'"],
        [`${core}/pods`, "metadata.name=a=b", "invalid field selector: unescaped character in value: 61"],
        [`${core}/pods`, "metadata.name=a\\b", "invalid field selector: invalid escape sequence: \\b"],
      ] as const)
        assert.strictEqual(refused(api, path, selector), words)
    }),
  )

  it.effect("finds what is not written down by its default", () =>
    Effect.gen(function* () {
      const api = yield* served
      post(api, `${core}/pods`, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "p" },
        spec: { containers: [{ name: "a", image: "a" }] },
      })
      const found = (selector: string) =>
        listOf(
          at(ask(api, { path: `${core}/pods?fieldSelector=${encodeURIComponent(selector)}` }).body, "items"),
        ).length
      assert.deepStrictEqual(
        [
          "spec.hostNetwork=false",
          "spec.hostNetwork=true",
          "spec.host=",
          "status.podIP=,metadata.name==p",
        ].map(found),
        [1, 0, 1, 1],
      )
    }),
  )
})

describe("a review", () => {
  it.effect("says what one may do, by the rules that there are", () =>
    Effect.gen(function* () {
      const api = yield* served
      const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
      const allowed = (user: string, verb: string) =>
        at(
          post(
            api,
            path,
            { spec: { resourceAttributes: { verb, resource: "pods", namespace: "default" } } },
            user,
          ).body,
          "status",
          "allowed",
        )
      assert.isFalse(allowed("jane", "get"))
      assert.isTrue(allowed("admin", "get"))
      const admin = api.as("admin")
      const rbac = "rbac.authorization.k8s.io"
      admin.create(Kinds.Role, {
        apiVersion: `${rbac}/v1`,
        kind: "Role",
        metadata: { name: "reader", namespace: "default" },
        rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
      })
      admin.create(Kinds.RoleBinding, {
        apiVersion: `${rbac}/v1`,
        kind: "RoleBinding",
        metadata: { name: "reader", namespace: "default" },
        roleRef: { apiGroup: rbac, kind: "Role", name: "reader" },
        subjects: [{ apiGroup: rbac, kind: "User", name: "jane" }],
      })
      assert.isTrue(allowed("jane", "get"))
      assert.isFalse(allowed("jane", "delete"))
      // Of others, not everybody may ask.
      assert.strictEqual(
        post(api, "/apis/authorization.k8s.io/v1/subjectaccessreviews", { spec: { user: "admin" } }, "jane")
          .status,
        403,
      )
    }),
  )
})

describe("protobuf", () => {
  const varint = (value: number): ReadonlyArray<number> =>
    value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]
  const field = (number: number, content: Buffer | string) => {
    const bytes = Buffer.from(content)
    return Buffer.from([...varint((number << 3) | 2), ...varint(bytes.length), ...bytes])
  }
  const body = (apiVersion: string, kind: string, object: Buffer) =>
    Buffer.concat([
      Buffer.from("k8s\0"),
      field(1, Buffer.concat([field(1, apiVersion), field(2, kind)])),
      field(2, object),
    ])

  it("is read by the layout of its kind; what is empty is not there", () => {
    const container = Buffer.concat([field(1, "a"), field(2, "image"), field(5, "")])
    const limits = Buffer.concat([field(1, "cpu"), field(2, field(1, "100m"))])
    const pod = Buffer.concat([
      field(1, Buffer.concat([field(1, "p"), field(11, Buffer.concat([field(1, "k"), field(2, "v")]))])),
      field(2, Buffer.concat([field(2, Buffer.concat([container, field(8, field(1, limits))]))])),
      field(3, ""),
    ])
    assert.deepStrictEqual(readProtobuf(body("v1", "Pod", pod)), {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p", labels: { k: "v" } },
      spec: { containers: [{ name: "a", image: "image", resources: { limits: { cpu: "100m" } } }] },
    })
  })

  it("is refused when it is cut off, or of a kind that nobody knows", () => {
    const whole = body("v1", "ConfigMap", field(1, field(1, "c")))
    assert.throws(() => readProtobuf(whole.subarray(0, -2)), ProtobufError)
    assert.throws(() => readProtobuf(Buffer.from("{}")), ProtobufError)
    assert.throws(() => readProtobuf(body("v1", "Nothing", Buffer.alloc(0))), ProtobufError)
  })
})

describe("what kubectl shows", () => {
  it.each([
    [0, "0s"],
    [119_000, "119s"],
    [120_000, "2m"],
    [200_000, "3m20s"],
    [3 * 3_600_000 + 60_000, "3h1m"],
    [50 * 3_600_000, "2d2h"],
    [400 * 86_400_000, "400d"],
    [3 * 365 * 86_400_000, "3y"],
    [-5000, "<invalid>"],
  ])("%i ms are %s", (millis, text) => {
    assert.strictEqual(humanDuration(millis), text)
  })

  it("finds what a column's path leads to", () => {
    const object = {
      status: {
        conditions: [
          { type: "A", status: "1" },
          { type: "Ready", status: "True" },
        ],
      },
    }
    assert.deepStrictEqual(jsonPath('.status.conditions[?(@.type=="Ready")].status', object), ["True"])
    assert.deepStrictEqual(jsonPath(".status.conditions[0].type", object), ["A"])
    assert.deepStrictEqual(jsonPath(".status.nothing", object), [])
    assert.isTrue(isList(jsonPath(".status.conditions[*].type", object)) && isJson(object))
  })
})
