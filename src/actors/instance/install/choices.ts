// What an install has to choose before it begins: storage root and tenant host image. Pure; a choice once
// recorded is kept for the life of the instance.
import { Option, Result } from "effect"
import type { InstanceKey } from "../../../schema/InstanceKey.ts"
import { customStorageRoot, type PlatformInstanceSpec } from "../../../schema/PlatformSpec.ts"
import { defaultStorageRoot, storageRootProblem } from "../../../schema/StorageRoot.ts"
import type { InstanceRecord } from "../../../services/StateStore/StateStore.ts"

export type StorageChoice = NonNullable<InstanceRecord["storageRoot"]>

/** The recorded root, else the custom one, else the default under today's base; a failure is `InvalidStorageRoot`. */
export const chooseStorageRoot = (options: {
  readonly key: InstanceKey
  readonly spec: PlatformInstanceSpec
  /** `--storage-root-base` as it is today. */
  readonly base: string
  readonly record: Option.Option<InstanceRecord>
  readonly everInstalled: boolean
}): Result.Result<StorageChoice, string> => {
  const { key, spec, base } = options
  const recorded = Option.getOrUndefined(options.record)?.storageRoot
  if (recorded !== undefined) return Result.succeed(recorded)
  const custom = customStorageRoot(spec)
  if (custom === undefined) return Result.succeed({ path: defaultStorageRoot(base, key), base })
  // Its data lies there already, under whatever base there was when it was allowed.
  const problem = options.everInstalled ? undefined : storageRootProblem(custom, base)
  return problem === undefined ? Result.succeed({ path: custom }) : Result.fail(problem)
}

/**
 * The image an empty `tenantHostImage` stands for: the recorded one; where the record was lost, the one the status
 * tells; for a new instance the operator's pinned default, which the package must approve; for an instance that was
 * installed before images were recorded, the package's own default (`None`). A failure is `TenantHostImageUnsupported`.
 */
export const chooseTenantHostImage = (options: {
  readonly spec: PlatformInstanceSpec
  readonly record: Option.Option<InstanceRecord>
  /** `status.applied.tenantHostImage`. */
  readonly told: string | undefined
  readonly everInstalled: boolean
  readonly operatorDefault: Option.Option<string>
  readonly approved: ReadonlyArray<string>
}): Result.Result<Option.Option<string>, string> => {
  const { spec } = options
  const wished = spec.platform?.tenantHostImage
  if (wished !== undefined && wished !== "") return Result.succeed(Option.some(wished))
  const recorded = Option.getOrUndefined(options.record)?.tenantHostImage
  if (recorded !== undefined) return Result.succeed(Option.some(recorded))
  const told = Option.exists(options.record, ({ installed }) => installed !== undefined)
    ? undefined
    : options.told
  if (told !== undefined && told !== "") return Result.succeed(Option.some(told))
  if (options.everInstalled) return Result.succeed(Option.none())
  if (Option.isNone(options.operatorDefault)) {
    return Result.fail(
      "this build of the operator pins no digest of the default tenant host image; set spec.platform.tenantHostImage",
    )
  }
  const image = options.operatorDefault.value
  return options.approved.includes(image)
    ? Result.succeed(Option.some(image))
    : Result.fail(
        `version ${spec.version} does not approve the default tenant host image ${image}; set spec.platform.tenantHostImage, or a newer spec.version`,
      )
}

/** What the gateway's address lacks that its pattern lets through: the platform's program only says that it is no URL. */
export const gatewayProblem = ({ platform }: Pick<PlatformInstanceSpec, "platform">): string | undefined => {
  const endpoint = platform?.gateway?.httpEndpoint
  return endpoint === undefined || URL.canParse(endpoint)
    ? undefined
    : `spec.platform.gateway.httpEndpoint ${JSON.stringify(endpoint.slice(0, 200))} is no URL; give one with a host, such as http://apps.example:30080`
}
