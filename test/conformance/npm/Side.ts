// One side of the comparison: a machine with npm on it, and a registry that can be disturbed.
import type { Context } from "effect"
import type { PulumiOptions } from "../../../src/services/Pulumi/Options.ts"
import type { Published } from "../../twins/npm/Registry.ts"
import type { Services } from "../engine/Side.ts"

/** Verbs about the registry; the twin's has the same. */
export interface RegistryVerbs {
  readonly publish: (published: Published) => void
  readonly answer: (status: number, times?: number) => void
  readonly refuse: () => void
  readonly hang: () => void
  readonly tamper: (name: string) => void
  readonly mend: () => void
  readonly requests: () => number
}

export interface NpmSide {
  readonly root: string
  readonly services: Context.Context<Services>
  readonly options: PulumiOptions
  readonly registry: RegistryVerbs
  readonly url: string
}
