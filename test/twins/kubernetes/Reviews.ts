// Who am I, and what may I do: reviews are answered and never stored.
import type { ApiAnswer, ApiRequest } from "./ApiServer.ts"
import { at, isJson, type Json, objectOf, stringsOf, textOf } from "./Json.ts"
import type { Machine } from "./Machine.ts"
import { type Asked, groupsOf, type Identity, isAdministrator } from "./Rbac.ts"
import type { Route } from "./Route.ts"

const EVERYTHING: ReadonlyArray<Json> = [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }]
const EVERY_PATH: ReadonlyArray<Json> = [{ verbs: ["*"], nonResourceURLs: ["*"] }]

const askedOf = (spec: Json): Asked => {
  const resource = objectOf(spec.resourceAttributes)
  if (spec.resourceAttributes === undefined) {
    const path = objectOf(spec.nonResourceAttributes)
    return { verb: textOf(path.verb) ?? "", path: textOf(path.path) ?? "" }
  }
  const sub = textOf(resource.subresource)
  return {
    verb: textOf(resource.verb) ?? "",
    group: textOf(resource.group) ?? "",
    resource: `${textOf(resource.resource) ?? ""}${sub ? `/${sub}` : ""}`,
    namespace: textOf(resource.namespace) || undefined,
    name: textOf(resource.name) || undefined,
  }
}

const access = (machine: Machine, identity: Identity, body: Json): Json => ({
  spec: objectOf(body.spec),
  status: { allowed: machine.authorizer.allows(identity, askedOf(objectOf(body.spec))) },
})

const hasAll = (rules: ReadonlyArray<Json>, key: "resources" | "nonResourceURLs"): boolean =>
  rules.some((rule) => stringsOf(rule[key]).includes("*") && stringsOf(rule.verbs).includes("*"))

const rules = (machine: Machine, identity: Identity, body: Json): Json => {
  const namespace = textOf(at(body, "spec", "namespace"))
  const own = machine.authorizer.rules(identity, namespace).filter(isJson)
  // The server's own administrators are bound to `cluster-admin`, too, where that is there: it says so once.
  const all = isAdministrator(identity)
  return {
    spec: objectOf(body.spec),
    status: {
      resourceRules: [
        ...(all && !hasAll(own, "resources") ? EVERYTHING : []),
        ...own.filter((rule) => rule.resources !== undefined),
      ],
      nonResourceRules: [
        ...(all && !hasAll(own, "nonResourceURLs") ? EVERY_PATH : []),
        ...own.filter((rule) => rule.nonResourceURLs !== undefined),
      ],
      incomplete: false,
    },
  }
}

type Review = (machine: Machine, identity: Identity, body: Json) => Json

/** By group and plural. */
const REVIEWS: Readonly<Record<string, readonly [string, Review]>> = {
  "authentication.k8s.io/selfsubjectreviews": [
    "SelfSubjectReview",
    (_, { groups, user }) => ({ status: { userInfo: { username: user, groups: stringsOf(groups) } } }),
  ],
  "authorization.k8s.io/selfsubjectaccessreviews": ["SelfSubjectAccessReview", access],
  "authorization.k8s.io/selfsubjectrulesreviews": ["SelfSubjectRulesReview", rules],
  "authorization.k8s.io/subjectaccessreviews": [
    "SubjectAccessReview",
    (machine, _, body) => {
      const user = textOf(at(body, "spec", "user")) ?? ""
      return access(
        machine,
        { user, groups: [...groupsOf(user), ...stringsOf(at(body, "spec", "groups"))] },
        body,
      )
    },
  ],
}

/** The kinds of reviews of a group, with their plurals: for discovery. */
export const reviewsOf = (group: string): ReadonlyArray<{ readonly plural: string; readonly kind: string }> =>
  Object.entries(REVIEWS).flatMap(([key, [kind]]) => {
    const [of, plural = ""] = key.split("/")
    return of === group ? [{ plural, kind }] : []
  })

/** Groups that have nothing but reviews. */
export const REVIEW_GROUPS: ReadonlyArray<string> = ["authentication.k8s.io", "authorization.k8s.io"]

/** The answer when the request is a review. About oneself everybody may ask; of others, administrators. */
export const review = (
  machine: Machine,
  identity: Identity,
  request: ApiRequest,
  { group, plural, version }: Route,
): ApiAnswer | undefined => {
  const found = REVIEWS[`${group}/${plural}`]
  if (request.method !== "POST" || found === undefined) return undefined
  const asked = { verb: "create", group, resource: plural, namespace: undefined, name: undefined }
  if (!machine.authorizer.allows(identity, asked)) return undefined
  const [kind, answer] = found
  return {
    status: 201,
    body: {
      kind,
      apiVersion: `${group}/${version}`,
      metadata: { creationTimestamp: kind === "SelfSubjectReview" ? machine.now() : null },
      ...answer(machine, identity, objectOf(request.body)),
    },
  }
}
