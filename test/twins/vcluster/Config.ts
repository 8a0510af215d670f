// What the process reads of its config.yaml. Absent is zero, as in Go; an unknown top-level key ends the process.
import { Schema } from "effect"
import { parse } from "yaml"
import { remember } from "../pulumi/remember.ts"

const optional = Schema.optionalKey
const Enabled = Schema.Struct({ enabled: optional(Schema.Boolean) })

const Config = Schema.Struct({
  sync: optional(
    Schema.Struct({
      toHost: optional(
        Schema.Struct({
          pods: optional(Enabled),
          services: optional(Enabled),
          endpoints: optional(Enabled),
          persistentVolumeClaims: optional(Enabled),
          configMaps: optional(Enabled),
          secrets: optional(Enabled),
          networkPolicies: optional(Enabled),
        }),
      ),
    }),
  ),
  controlPlane: optional(
    Schema.Struct({
      proxy: optional(Schema.Struct({ extraSANs: optional(Schema.Array(Schema.String)) })),
      coredns: optional(
        Schema.Struct({
          enabled: optional(Schema.Boolean),
          deployment: optional(
            Schema.Struct({ image: optional(Schema.String), replicas: optional(Schema.Finite) }),
          ),
        }),
      ),
      advanced: optional(Schema.Struct({ defaultImageRegistry: optional(Schema.String) })),
    }),
  ),
  networking: optional(
    Schema.Struct({
      advanced: optional(
        Schema.Struct({ proxyKubelets: optional(Schema.Struct({ byIP: optional(Schema.Boolean) })) }),
      ),
    }),
  ),
  exportKubeConfig: optional(
    Schema.Struct({ server: optional(Schema.String), context: optional(Schema.String) }),
  ),
  experimental: optional(
    Schema.Struct({ syncSettings: optional(Schema.Struct({ setOwner: optional(Schema.Boolean) })) }),
  ),
})
export type Config = typeof Config.Type

const KNOWN = new Set(
  "sync controlPlane rbac networking policies exportKubeConfig external experimental telemetry logging integrations deploy pro platform sleep snapshots deletion plugins plugin serviceCIDR global podDisruptionBudget privateNodes".split(
    " ",
  ),
)

const decode = Schema.decodeUnknownSync(Config)

/** Throws with what the process says before it ends. */
export const parseConfig = remember((text: string): Config => {
  const parsed: unknown = parse(text)
  const unknown = Object.keys(Object(parsed)).find((key) => !KNOWN.has(key))
  if (unknown !== undefined)
    throw new Error(`error unmarshaling JSON: while decoding JSON: json: unknown field "${unknown}"`)
  return decode(parsed)
})
