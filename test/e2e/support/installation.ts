// How the operator is installed for the tests. Needs no cluster: the global set-up reads it before there is one.

/** Where the operator's spans are collected: an address of the machine that the node reaches. */
export const collectorAddress = "10.240.0.1:4318"

/** Chart values by which the operator sends its spans there, in this encoding of OTLP. */
export const spansTo = (endpoint: string, protocol: "http/json" | "http/protobuf"): ReadonlyArray<string> => [
  "--set-json",
  `extraEnv=${JSON.stringify([
    { name: "OTEL_EXPORTER_OTLP_ENDPOINT", value: endpoint },
    { name: "OTEL_EXPORTER_OTLP_PROTOCOL", value: protocol },
  ])}`,
]

/** Arguments of tools/install-operator. */
export const testValues: ReadonlyArray<string> = [
  ...["--set", "rbac.clusterAdmin=false"],
  ...["--set", "targetPoll=2s"],
  // The collector of the tests reads JSON alone.
  ...spansTo(`http://${collectorAddress}`, "http/json"),
]
