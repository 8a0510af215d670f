import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { cleanupJob } from "../../../src/services/Cleanup/CleanupJob.ts"
import { find, lint, pick, type Rendered, render, renderFailure } from "../helm.ts"

const chart = "charts/platform-operator"
const digest = `sha256:${"0123456789abcdef".repeat(4)}`
/** What a render without a cluster, of a chart that was not released, must be told. */
const needed = { image: { digest }, passphrase: { existingSecret: "mine" } }
const rendered = (values: object = {}, options: { release?: string; kubeVersion?: string } = {}) =>
  render(chart, { ...options, values: { ...needed, ...values } })
const refusal = (values: object) => renderFailure(chart, { values: { ...needed, ...values } })

const deployment = (values?: object) => find(rendered(values), "Deployment")
const containerOf = (object: Rendered): unknown => pick(object, "spec", "template", "spec", "containers", 0)
const argsOf = (object: Rendered): unknown => pick(containerOf(object), "args")

describe("the chart", () => {
  it("has nothing that helm's linter objects to", () => {
    expect(lint(chart, needed)).toBe("")
  })

  it.each([27, 28, 29, 30, 31, 32, 33, 34, 35, 36].map((minor) => `1.${minor}.0`))(
    "renders for Kubernetes %s",
    (kubeVersion) => {
      expect(rendered({}, { kubeVersion }).map(({ kind }) => kind)).toContain("Deployment")
    },
  )

  it("carries the version of the operator", () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8"))
    expect(find(rendered(), "Deployment").metadata.labels).toMatchObject({
      "app.kubernetes.io/version": version,
      "helm.sh/chart": `platform-operator-${version}`,
    })
  })

  it("names its objects as the reference does", () => {
    const objects = render(chart, { values: { ...needed, rbac: { clusterAdmin: false } } })
    expect(objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`).sort()).toEqual([
      "ClusterRole/platform-operator",
      "ClusterRoleBinding/platform-operator",
      "CustomResourceDefinition/platforminstances.platform.di-framework.dev",
      "Deployment/platform-operator",
      "NetworkPolicy/platform-operator",
      "NetworkPolicy/platform-operator-cleanup",
      "PersistentVolumeClaim/platform-operator-state",
      "Role/platform-operator",
      "Role/platform-operator-cleanup",
      "RoleBinding/platform-operator",
      "RoleBinding/platform-operator-cleanup",
      "Service/platform-operator-metrics",
      "ServiceAccount/platform-operator",
    ])
  })

  it("leaves the cleanup pods no network, in the namespace they run in", () => {
    const policy = find(
      rendered({ cleanupNamespace: "cleaning" }),
      "NetworkPolicy",
      "platform-operator-cleanup",
    )
    expect(policy.metadata.namespace).toBe("cleaning")
    const { metadata } = cleanupJob({
      image: "operator",
      cleanupNamespace: "cleaning",
      base: "/base",
      currentBase: "/base",
      key: { namespace: "team-a", name: "one" },
      uid: "life",
    })
    const selected: unknown = pick(policy, "spec", "podSelector", "matchLabels")
    expect(metadata.labels).toMatchObject({ ...(typeof selected === "object" ? selected : {}) })
    expect(pick(policy, "spec")).toEqual({
      podSelector: { matchLabels: { "app.kubernetes.io/name": "platform-operator-storage-cleanup" } },
      policyTypes: ["Ingress", "Egress"],
    })
  })

  it("keeps two releases apart but for the cluster's one ClusterRole", () => {
    const objects = rendered({}, { release: "second" })
    expect(find(objects, "Deployment").metadata.name).toBe("second-platform-operator")
    expect(find(objects, "PersistentVolumeClaim").metadata.name).toBe("second-platform-operator-state")
    expect(find(objects, "ClusterRole").metadata.name).toBe("platform-operator")
  })

  it("keeps the definition of the instances and the state when it is uninstalled", () => {
    const objects = rendered()
    for (const kind of ["CustomResourceDefinition", "PersistentVolumeClaim"])
      expect(find(objects, kind).metadata.annotations).toMatchObject({ "helm.sh/resource-policy": "keep" })
  })
})

describe("a value", () => {
  it("becomes its flag, with the reference's default", () => {
    expect(argsOf(deployment())).toEqual([
      "--state-dir=/var/lib/platform-operator",
      "--passphrase-file=/etc/platform-operator/passphrase/passphrase",
      "--storage-root-base=/var/lib/kubesolo/instances",
      "--install-timeout=30m",
      "--repair-interval=30m",
      "--target-poll=10s",
      "--max-concurrent-installs=2",
      "--max-concurrent-targets=4",
      "--leader-elect",
    ])
  })

  it("that has a flag refuses it among the other ones", () => {
    const args = argsOf(
      deployment({
        watchNamespaces: ["team-a"],
        cleanupNamespace: "cleaning",
        npm: { registry: "https://registry.example", existingSecret: "npmrc" },
        plugins: { server: "https://mirror", existingClaim: "plugins" },
      }),
    )
    if (!Array.isArray(args)) throw new Error("the container has no arguments")
    for (const arg of args)
      expect(refusal({ extraArgs: [arg] })).toContain(`extraArgs: ${String(arg).split("=")[0]} is`)
  })

  it("that is set becomes its flag", () => {
    const args = argsOf(
      deployment({
        replicaCount: 2,
        storageRootBase: "/srv/instances",
        installTimeout: "1h30m",
        repairInterval: "45s",
        targetPoll: "500ms",
        maxConcurrentInstalls: 7,
        resources: { limits: { memory: "6Gi" } },
        maxConcurrentTargets: 9,
        cleanupNamespace: "cleaning",
        npm: { registry: "http://registry.example:4873/", existingSecret: "npmrc" },
        extraArgs: ["--zap-log-level=debug"],
      }),
    )
    expect(args).toEqual([
      "--state-dir=/var/lib/platform-operator",
      "--passphrase-file=/etc/platform-operator/passphrase/passphrase",
      "--storage-root-base=/srv/instances",
      "--install-timeout=1h30m",
      "--repair-interval=45s",
      "--target-poll=500ms",
      "--max-concurrent-installs=7",
      "--max-concurrent-targets=9",
      "--cleanup-namespace=cleaning",
      "--leader-elect",
      "--npm-registry=http://registry.example:4873/",
      "--npmrc=/etc/platform-operator/npm/.npmrc",
      "--zap-log-level=debug",
    ])
  })

  it("of memory fits as many operations as it says", () => {
    for (const [maxConcurrentInstalls, memory] of [
      [3, "2571Mi"],
      [3, "2.6Gi"],
      [1, "1304Mi"],
      [9, ""],
      [2, 4_294_967_296],
      [2, "4e9"],
      [2, "1Pi"],
      [2, "4294967296000m"],
    ] as const) {
      deployment({
        maxConcurrentInstalls,
        resources: { limits: memory === "" ? { memory: null } : { memory } },
      })
    }
  })

  it("of plugins that are there already is mounted, and looked at", () => {
    const object = deployment({ plugins: { existingClaim: "plugins" } })
    expect(argsOf(object)).toContain("--plugin-directory=/opt/pulumi/own-plugins")
    expect(JSON.stringify(object)).toContain('"claimName":"plugins"')
  })

  it.each([
    ["image.digest", { image: { digest: "" } }, "/image/digest"],
    ["image.digest", { image: { digest: "v6.0.22" } }, "/image/digest"],
    ["image.digest", { image: { digest: `sha256:${"A".repeat(64)}` } }, "/image/digest"],
    ["image.repository", { image: { digest, repository: `x@${digest}` } }, "/image/repository"],
    [
      "replicaCount",
      { replicaCount: 2, leaderElect: false },
      "replicaCount: more than 1 replica requires leaderElect",
    ],
    [
      "state.existingClaim",
      { state: { existingClaim: "mine" }, passphrase: { existingSecret: "" } },
      "state.existingClaim requires passphrase.existingSecret",
    ],
    ["installTimeout", { installTimeout: "30" }, "/installTimeout"],
    ["maxConcurrentInstalls", { maxConcurrentInstalls: 0 }, "/maxConcurrentInstalls"],
    [
      "resources.limits.memory",
      { maxConcurrentInstalls: 3 },
      "resources.limits.memory: 2Gi is too little for maxConcurrentInstalls 3: at its peak the pod takes 1928 MiB, which must stay below three quarters of the limit. Set resources.limits.memory to 2571Mi at least",
    ],
    [
      "resources.limits.memory",
      { resources: { limits: { memory: "1900000000" } } },
      "resources.limits.memory: 1900000000 is too little for maxConcurrentInstalls 2",
    ],
    ["resources.limits.memory", { resources: { limits: { memory: "lots" } } }, "/resources/limits/memory"],
    [
      "resources.limit",
      { resources: { limit: { memory: "3Gi" } } },
      "'/resources': additional properties 'limit'",
    ],
    ["resources", { resources: null }, "missing property 'resources'"],
    ["installTimeout", { installTimeout: "0s" }, "/installTimeout"],
    ["repairInterval", { repairInterval: "0h0.0m" }, "/repairInterval"],
    ["targetPoll", { targetPoll: "99999999999h" }, "/targetPoll"],
    ["targetPoll", { targetPoll: null }, "missing property 'targetPoll'"],
    ["image.digest", { image: { digest: null } }, "at '/image': missing property 'digest'"],
    ["image.repository", { image: { digest, repository: "https://ghcr.io/x" } }, "/image/repository"],
    ["image.repository", { image: { digest, repository: "ghcr.io/x:1.0" } }, "/image/repository"],
    ["state.size", { state: { size: "0" } }, "/state/size"],
    ["state.size", { state: { size: "10m" } }, "/state/size"],
    ["npm.registry", { npm: { registry: "https://[" } }, "/npm/registry"],
    ["npm.registry", { npm: { registry: "https://registry.example/?token=planted" } }, "/npm/registry"],
    [
      "extraArgs",
      { extraArgs: ["--state-dir=/elsewhere"] },
      "extraArgs: --state-dir is the flag of the value state, and can be given once",
    ],
    [
      "extraArgs",
      { extraArgs: ["--leader-elect"] },
      "extraArgs: --leader-elect is the flag of the value leaderElect",
    ],
    ["storageRootBase", { storageRootBase: "/" }, "/storageRootBase"],
    ["storageRootBase", { storageRootBase: "/var/../etc" }, "/storageRootBase"],
    ["npm.registry", { npm: { registry: "https://user:secret@registry.example" } }, "/npm/registry"],
    ["headlamp.enabled", { headlamp: { enabled: true } }, "headlamp.enabled: "],
    ["nonsense", { nonsense: true }, "additional properties 'nonsense' not allowed"],
    [
      "state.nonsense",
      { state: { nonsense: true } },
      "at '/state': additional properties 'nonsense' not allowed",
    ],
  ])("that is wrong is refused by name: %s %j", (_, values, message) => {
    expect(refusal(values)).toContain(message)
  })

  it("is described, each one", () => {
    const described = (schema: unknown, path: string): ReadonlyArray<string> => {
      const properties = pick(schema, "properties")
      const own = typeof pick(schema, "description") === "string" || path === "" ? [] : [path]
      return typeof properties !== "object" || properties === null
        ? own
        : [
            ...own,
            ...Object.entries(properties).flatMap(([key, value]) => described(value, `${path}/${key}`)),
          ]
    }
    expect(described(JSON.parse(readFileSync(`${chart}/values.schema.json`, "utf8")), "")).toEqual([])
  })
})

describe("the passphrase", () => {
  it("is never made up by a render that cannot see the cluster", () => {
    expect(refusal({ passphrase: { existingSecret: "" } })).toContain(
      "passphrase.existingSecret: this render cannot see the cluster",
    )
  })

  it("comes from the named Secret as a file that the operator's group alone may read", () => {
    const objects = rendered()
    expect(objects.filter(({ kind }) => kind === "Secret")).toEqual([])
    expect(pick(find(objects, "Deployment"), "spec", "template", "spec", "volumes")).toContainEqual({
      name: "passphrase",
      secret: {
        secretName: "mine",
        optional: true,
        defaultMode: 0o440,
        items: [{ key: "passphrase", path: "passphrase" }],
      },
    })
  })
})

describe("the operator's pod", () => {
  it("runs the image by digest, and hands it on to the cleanup Jobs", () => {
    const image = `ghcr.io/di-framework/platform-operator@${digest}`
    const container = containerOf(deployment())
    expect(container).toMatchObject({ image, imagePullPolicy: "IfNotPresent" })
    expect(pick(container, "env")).toContainEqual({ name: "OPERATOR_IMAGE", value: image })
  })

  it("meets Pod Security restricted", () => {
    expect(deployment()).toMatchObject({
      spec: {
        template: {
          spec: {
            securityContext: {
              runAsNonRoot: true,
              runAsUser: 1000,
              fsGroup: 1000,
              seccompProfile: { type: "RuntimeDefault" },
            },
            containers: [
              {
                securityContext: {
                  allowPrivilegeEscalation: false,
                  readOnlyRootFilesystem: true,
                  capabilities: { drop: ["ALL"] },
                },
              },
            ],
          },
        },
      },
    })
  })

  it("never runs beside its successor", () => {
    expect(deployment()).toMatchObject({ spec: { replicas: 1, strategy: { type: "Recreate" } } })
  })

  it("mounts a claim of the user's when there is one", () => {
    const objects = rendered({ state: { existingClaim: "theirs" } })
    expect(objects.filter(({ kind }) => kind === "PersistentVolumeClaim")).toEqual([])
    expect(pick(find(objects, "Deployment"), "spec", "template", "spec", "volumes")).toContainEqual({
      name: "state",
      persistentVolumeClaim: { claimName: "theirs" },
    })
  })

  it("keeps kubeconfigs in memory and bounds its temporary space", () => {
    expect(pick(deployment(), "spec", "template", "spec", "volumes")).toEqual(
      expect.arrayContaining([
        { name: "kubeconfigs", emptyDir: { medium: "Memory", sizeLimit: "16Mi" } },
        { name: "home", emptyDir: { sizeLimit: "4Gi" } },
        { name: "tmp", emptyDir: { sizeLimit: "1Gi" } },
      ]),
    )
  })
})
