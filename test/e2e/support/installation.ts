// How the operator is installed for the tests. Needs no cluster: the global set-up reads it before there is one.

/** Where the operator's spans are collected: an address of the machine that the node reaches. */
export const collectorAddress = "10.240.0.1:4318"

const environment = {
  OTEL_EXPORTER_OTLP_ENDPOINT: `http://${collectorAddress}`,
  // The collector of the tests reads JSON alone.
  OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
}

/** Arguments of tools/install-operator. */
export const testValues: ReadonlyArray<string> = [
  ...["--set", "rbac.clusterAdmin=false"],
  ...["--set", "targetPoll=2s"],
  ...[
    "--set-json",
    `extraEnv=${JSON.stringify(Object.entries(environment).map(([name, value]) => ({ name, value })))}`,
  ],
]
