// `@pulumi/pulumi` and `@pulumi/kubernetes` as far as the wrapper and the stand-in package use them. Resources are
// registered in a list; who makes them is the engine (../Engine.ts).
import { dependenciesOf, type Goal, makeOutput, toOutput, unwrapped } from "./Output.ts"

export interface ConfigValue {
  readonly value: string
  readonly secret: boolean
}

/** Keys with the project's prefix. */
export type StackConfig = ReadonlyMap<string, ConfigValue>

interface ResourceOptions {
  readonly provider?: unknown
  readonly dependsOn?: ReadonlyArray<unknown> | unknown
  readonly retainOnDelete?: boolean
}

interface Transformed {
  readonly type: string
  readonly name: string
  readonly props: Readonly<Record<string, unknown>>
  readonly opts: ResourceOptions
  readonly resource: object
}

export interface Sdk {
  readonly pulumi: object
  readonly kubernetes: object
  readonly goals: ReadonlyArray<Goal>
}

const groups: Readonly<Record<string, string>> = {
  apiextensions: "apiextensions.k8s.io",
  admissionregistration: "admissionregistration.k8s.io",
  helm: "helm.sh",
}

/** Type token, and what the SDK adds to the arguments, by the place of a class in the library. */
const classOf = (path: ReadonlyArray<string>, args: Readonly<Record<string, unknown>>) => {
  const [group = "", version = "", kind = ""] = path
  if (group === "Provider") return { type: "pulumi:providers:kubernetes", own: {} }
  if (version === "CustomResource") return { type: `kubernetes:${args.apiVersion}:${args.kind}`, own: {} }
  const full = groups[group] ?? group
  const own = group === "helm" ? {} : { apiVersion: group === "core" ? version : `${full}/${version}`, kind }
  return { type: `kubernetes:${full}/${version}:${kind}`, own }
}

/** Thrown where the SDK throws for a config value. */
const configError = (message: string): Error => new Error(message)

const makeConfig = (project: string, config: StackConfig) => {
  const find = (key: string) => config.get(`${project}:${key}`)?.value
  return class Config {
    get(key: string) {
      return find(key)
    }
    getSecret(key: string) {
      const value = find(key)
      return value === undefined ? undefined : toOutput(value, true)
    }
    getNumber(key: string) {
      const value = find(key)
      if (value === undefined) return undefined
      if (Number.isNaN(Number(value))) {
        throw configError(`Configuration '${project}:${key}' value '${value}' is not a valid number`)
      }
      return Number(value)
    }
    getBoolean(key: string) {
      const value = find(key)
      if (value === undefined || value === "true" || value === "false") return value && value === "true"
      throw configError(`Configuration '${project}:${key}' value '${value}' is not a valid boolean`)
    }
    getObject(key: string): unknown {
      const value = find(key)
      if (value === undefined) return undefined
      try {
        return JSON.parse(value)
      } catch {
        throw configError(`Configuration '${project}:${key}' value '${value}' is not a valid object`)
      }
    }
    require(key: string) {
      const value = find(key)
      if (value === undefined) {
        throw configError(
          `Missing required configuration variable '${project}:${key}'\n    please set a value using the command \`pulumi config set ${project}:${key} <value>\``,
        )
      }
      return value
    }
  }
}

/** A fresh SDK: one process's. */
export const makeSdk = (project: string, config: StackConfig, dry: boolean): Sdk => {
  const goals: Array<Goal> = []
  const goalOf = new WeakMap<object, Goal>()
  const stackTransformations: Array<(args: Transformed) => unknown> = []
  const transforms: Array<
    (args: Transformed) => { props: Transformed["props"]; opts: ResourceOptions } | undefined
  > = []

  const goalsIn = (value: unknown): ReadonlyArray<Goal> =>
    (Array.isArray(value) ? value : [value]).flatMap((one) => {
      const goal = typeof one === "object" && one !== null ? goalOf.get(one) : undefined
      return goal === undefined ? [] : [goal]
    })

  const register = (
    path: ReadonlyArray<string>,
    name: string,
    args: Readonly<Record<string, unknown>>,
    opts: ResourceOptions = {},
  ): object => {
    const { type, own } = classOf(path, args)
    const resource: object = new Proxy(
      {},
      {
        get: (_, key) => {
          if (typeof key === "symbol" || key === "then") return undefined
          return makeOutput({
            dependencies: new Set(goalsIn(resource)),
            secret: false,
            compute: () => (key === "urn" ? `${type}::${name}` : unwrapped(goal.inputs[key])),
            endless: false,
          })
        },
      },
    )
    const seen: Transformed = { type, name, props: { ...args, ...own }, opts, resource }
    for (const each of stackTransformations) each(seen)
    let transformed: Transformed["props"] | undefined
    const [provider] = goalsIn(opts.provider)
    const goal: Goal = {
      type,
      name,
      // The engine asks for transforms when it is told of a resource: all that is registered at import has been by then.
      get inputs() {
        transformed ??= transforms.reduce(
          (before, each) => each({ ...seen, props: before })?.props ?? before,
          seen.props,
        )
        return transformed
      },
      provider,
      dependencies: new Set([
        ...(provider === undefined ? [] : [provider]),
        ...dependenciesOf(seen.props),
        ...goalsIn(opts.dependsOn),
      ]),
      retainOnDelete: opts.retainOnDelete === true,
    }
    goals.push(goal)
    goalOf.set(resource, goal)
    return resource
  }

  /** A class, and whatever lies below it in the library. */
  const library = (...path: ReadonlyArray<string>): object =>
    new Proxy(class {}, {
      get: (_, key) => (typeof key === "symbol" ? undefined : library(...path, key)),
      construct: (_, [name, args, opts]) => register(path, name, args, opts),
    })

  return {
    goals,
    kubernetes: library(),
    pulumi: {
      Config: makeConfig(project, config),
      secret: (value: unknown) => toOutput(value, true),
      output: (value: unknown) => toOutput(value),
      runtime: {
        isDryRun: () => dry,
        registerStackTransformation: (each: (args: Transformed) => unknown) => {
          stackTransformations.push(each)
        },
        registerResourceTransform: (each: (typeof transforms)[number]) => {
          transforms.push(each)
        },
      },
    },
  }
}
