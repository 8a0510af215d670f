// People with rights of their own: each a ServiceAccount, signed in by its token.

/** Runs kubectl as an administrator and gives what it printed. */
export type Kubectl = (args: ReadonlyArray<string>, input?: string) => Promise<string>

const rule = (
  apiGroups: ReadonlyArray<string>,
  resources: ReadonlyArray<string>,
  verbs: ReadonlyArray<string>,
) => ({
  apiGroups,
  resources,
  verbs,
})
const read = ["get", "list", "watch"]
const group = "platform.di-framework.dev"

const role = (name: string, namespace: string, rules: ReadonlyArray<object>) => [
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } },
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: { name, namespace }, rules },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name, namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
    subjects: [{ kind: "ServiceAccount", name, namespace }],
  },
]

export interface Tokens {
  readonly admin: string
  /** May do everything to instances in the namespace, and read no Secret. */
  readonly editor: string
  /** May see instances of the namespace and nothing else. */
  readonly viewer: string
  /** May do nothing. */
  readonly stranger: string
}

/** Makes the namespace, the people in it, and their tokens. The admin's binding is cluster-wide, by the namespace's name. */
export const makeUsers = async (kubectl: Kubectl, namespace: string): Promise<Tokens> => {
  const items = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "admin", namespace } },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: `${namespace}-admin` },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", name: "admin", namespace }],
    },
    ...role("editor", namespace, [rule([group], ["platforminstances"], ["*"]), rule([""], ["events"], read)]),
    ...role("viewer", namespace, [rule([group], ["platforminstances"], read)]),
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "stranger", namespace } },
  ]
  await kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }))
  const token = async (name: string) =>
    (await kubectl(["create", "token", name, "--namespace", namespace, "--duration=3h"])).trim()
  return {
    admin: await token("admin"),
    editor: await token("editor"),
    viewer: await token("viewer"),
    stranger: await token("stranger"),
  }
}

export const removeUsers = async (kubectl: Kubectl, namespace: string): Promise<void> => {
  await kubectl(["delete", "clusterrolebinding", `${namespace}-admin`])
}
