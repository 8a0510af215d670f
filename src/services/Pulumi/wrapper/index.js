// The program of a PlatformInstance: the platform package's own program, and what the operator adds to it.
// The operator copies this file into each instance's project and runs it through the Automation API; in such
// a project `pulumi stack` shows what was installed. It must stand alone: it is read without the operator.

const { createRequire } = require("node:module")
const { readFileSync } = require("node:fs")

const platformPackage = "@di-framework/platform"

// A program that throws makes the engine delete nothing, even after it registered a part; one that returns
// with less than before makes it delete the rest. So whatever looks wrong is thrown before the return.
const guard = (condition, message) => {
  if (!condition) throw new Error(`${message}. Nothing was deleted.`)
}

/** The value of an output; rejects when what it comes from has failed. */
const resolved = (pulumi, output) => pulumi.output(output).promise()

const run = async () => {
  // Through the package, so that everything here shares the one SDK and provider library the package pins.
  const platform = createRequire(require.resolve(`${platformPackage}/package.json`))
  const pulumi = platform("@pulumi/pulumi")
  const entrypoint = require.resolve(`${platformPackage}/existing`)
  guard(
    require.cache[entrypoint] === undefined,
    "The platform's program was loaded in this process before and would register nothing",
  )
  const config = new pulumi.Config()

  const registered = []
  pulumi.runtime.registerStackTransformation((args) => {
    if (args.type !== "pulumi:pulumi:Stack") registered.push(args)
    return undefined
  })
  const clientSecret = config.getSecret("tenantAuthClientSecret")
  // With it a changed address of the same cluster is an update of the provider; without it, a replacement of
  // everything. The identity of a cluster is the UID of its kube-system namespace.
  const clusterIdentifier = config.require("clusterIdentifier")
  pulumi.runtime.registerResourceTransform((args) =>
    args.type === "pulumi:providers:kubernetes"
      ? {
          props: {
            ...(clientSecret !== undefined && !hasSecrets(registered) ? { enableSecretMutable: "true" } : {}),
            ...args.props,
            clusterIdentifier,
          },
          opts: args.opts,
        }
      : undefined,
  )

  const outputs = { ...require(entrypoint) }
  guard(
    outputs.schemaVersion === 2,
    `The platform's outputs have schema version ${outputs.schemaVersion}, not 2`,
  )
  guard(registered.length > 0, "The platform's program registered no resource")

  if (clientSecret !== undefined)
    tenantAuthSecret(pulumi, platform, config, outputs, registered, clientSecret)

  const declared = (config.getObject("tenants") ?? []).map((tenant) => tenant.name).sort()
  const tenants = await resolved(pulumi, outputs.tenants)
  // What a preview does not know yet says nothing about what the program makes.
  if (pulumi.runtime.isDryRun() && tenants === undefined) return outputs
  const made = (tenants ?? []).map((tenant) => tenant.name).sort()
  guard(
    JSON.stringify(made) === JSON.stringify(declared),
    `The platform's program made the tenants [${made}], but the instance declares [${declared}]`,
  )
  return outputs
}

const ownSecret = "platform-operator-tenant-auth"

/**
 * Whether the program makes Secrets itself. The provider deletes a Secret that changes and makes it anew, so that a client
 * secret that is rotated would be gone for a moment, and for longer when the engine dies in it. It may change Secrets
 * instead; but a program that has some may count on new ones, for instance to have pods restarted. The engine asks when
 * all that is registered at import has been (seen: 3.261.0).
 */
const hasSecrets = (registered) =>
  registered.some((args) => args.type === "kubernetes:core/v1:Secret" && args.name !== ownSecret)

/** The Secret that `tenantAuth.oauthClient.secretName` names, from encrypted stack config. */
const tenantAuthSecret = (pulumi, platform, config, outputs, registered, clientSecret) => {
  const kubernetes = platform("@pulumi/kubernetes")
  // The namespace is the program's own resource. Waiting for all of its namespaces would be a trap: a
  // tenant's may wait for what needs this Secret.
  const name = config.get("namespace") ?? "wasmcloud"
  const namespaces = registered.filter(
    (args) =>
      args.type === "kubernetes:core/v1:Namespace" && (args.props.metadata?.name ?? args.name) === name,
  )
  new kubernetes.core.v1.Secret(
    ownSecret,
    {
      metadata: {
        name: ownSecret,
        namespace: outputs.namespace ?? name,
        annotations: { "pulumi.com/patchForce": "true" },
      },
      stringData: { clientSecret },
    },
    {
      provider: ownProvider(registered) ?? newProvider(pulumi, kubernetes, config),
      dependsOn: namespaces.map((args) => args.resource),
      // Another provider makes another Secret of the same name, which the end of the first must not take along.
      deleteBeforeReplace: true,
    },
  )
}

/** The program's provider, when there is no doubt which: each one more is a process more, of 150 MiB. */
const ownProvider = (registered) => {
  const providers = registered.filter((args) => args.type === "pulumi:providers:kubernetes")
  return providers.length === 1 ? providers[0].resource : undefined
}

const newProvider = (pulumi, kubernetes, config) =>
  new kubernetes.Provider("platform-operator", {
    kubeconfig: pulumi.secret(readFileSync(config.require("kubeconfig"), "utf8")),
    context: config.get("context"),
    enableServerSideApply: true,
    enableSecretMutable: true,
  })

// A function, so that the runner decides when it runs; the pulumi CLI calls an exported function by itself.
module.exports = run
