// How the operator marks what it made beside a release, so that a watch can select it.
export const MANAGED_BY = { "app.kubernetes.io/managed-by": "platform-operator" } as const
export const MANAGED_BY_SELECTOR = "app.kubernetes.io/managed-by=platform-operator"
