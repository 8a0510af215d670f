// The shape of a structural schema. It imports nothing: the Headlamp plugin, which is built without Effect, has it from here.

/** A node of a CRD's openAPIV3Schema, as far as this project uses it. */
export interface StructuralSchema {
  readonly type: "object" | "array" | "string" | "integer" | "boolean"
  readonly description?: string
  readonly default?: string | number
  readonly format?: string
  readonly enum?: ReadonlyArray<string>
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly maxItems?: number
  readonly items?: StructuralSchema
  readonly required?: ReadonlyArray<string>
  readonly properties?: Readonly<Record<string, StructuralSchema>>
  readonly "x-kubernetes-list-type"?: "map"
  readonly "x-kubernetes-list-map-keys"?: ReadonlyArray<string>
  readonly "x-kubernetes-validations"?: ReadonlyArray<{ readonly rule: string; readonly message: string }>
}
