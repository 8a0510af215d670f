// The CustomResourceDefinition of PlatformInstance, made from the schema the operator decodes with. Written to
// crd/ and the chart by tools/generate.ts.
import { GROUP, KIND, PLURAL, VERSION } from "./Names.ts"
import { nameRule } from "./PlatformInstance.ts"
import { PlatformInstanceSpec } from "./PlatformSpec.ts"
import { PlatformInstanceStatus } from "./PlatformStatus.ts"
import { type StructuralSchema, structuralSchema } from "./StructuralSchema.ts"

const objectSchema = {
  type: "object",
  description: "A copy of the di-framework platform with a cluster of its own.",
  required: ["spec"],
  properties: {
    apiVersion: {
      type: "string",
      description: "The version of this representation of the object, platform.di-framework.dev/v1alpha1.",
    },
    kind: { type: "string", description: "The kind of the object, PlatformInstance." },
    // The server checks metadata by its own rules; a CRD may only restrict the name.
    metadata: { type: "object" },
    spec: structuralSchema(PlatformInstanceSpec),
    status: structuralSchema(PlatformInstanceStatus),
  },
  "x-kubernetes-validations": [{ rule: nameRule.rule, message: nameRule.message }],
} as const satisfies StructuralSchema

/** A plain object, ready to be written as YAML or applied. */
export const crd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${PLURAL}.${GROUP}` },
  spec: {
    group: GROUP,
    scope: "Namespaced",
    names: {
      kind: KIND,
      listKind: `${KIND}List`,
      plural: PLURAL,
      singular: KIND.toLowerCase(),
      shortNames: ["pi"],
    },
    versions: [
      {
        name: VERSION,
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: "Version", type: "string", jsonPath: ".spec.version" },
          { name: "Installed", type: "string", jsonPath: ".status.installedVersion" },
          { name: "Phase", type: "string", jsonPath: ".status.phase" },
          { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
        ],
        schema: { openAPIV3Schema: objectSchema },
      },
    ],
  },
} as const
