// What a deletion takes and what it leaves, and why one that runs does not end.
import { crd } from "../generated/crd.ts"
import { valueAt } from "./schema.ts"
import { conditionsOf } from "./status.ts"
import { say, type Words } from "./words.ts"

export interface DeletionPlan {
  readonly policy: "Delete" | "Retain"
  readonly goes: ReadonlyArray<Words>
  readonly stays: ReadonlyArray<Words>
}

/** What cannot be understood of the policy counts as `Retain`: nothing is lost by a doubt. */
export const deletionPlan = (object: unknown): DeletionPlan => {
  const given = valueAt(object, ["spec", "deletionPolicy"])
  const policy = given === undefined || given === "Delete" ? "Delete" : "Retain"
  const secret = say("the Secret {{name}} with its kubeconfig", {
    name: `${valueAt(object, ["metadata", "name"]) ?? ""}-kubeconfig`,
  })
  const cluster = say("its vCluster, with the host namespace and the vCluster's volume")
  const state = say("the state of the install")
  const storage = say("its default storage root on the node, with all tenant data")
  if (policy === "Retain")
    return {
      policy,
      goes: [secret],
      stays: [
        cluster,
        state,
        say("tenant data on the node"),
        say("an instance of the same namespace and name takes all of it up again"),
      ],
    }
  const root = valueAt(object, ["spec", "platform", "storageRoot"])
  if (typeof root === "string" && root !== "")
    return {
      policy,
      goes: [secret, cluster, state],
      stays: [say("the storage root {{path}} on the node, which is yours to remove", { path: root })],
    }
  const skipped = valueAt(object, ["metadata", "annotations", crd.skipStorageCleanup]) === "true"
  return skipped
    ? {
        policy,
        goes: [secret, cluster, state],
        stays: [
          say("its default storage root on the node: the annotation {{name}} keeps it", {
            name: crd.skipStorageCleanup,
          }),
        ],
      }
    : { policy, goes: [secret, cluster, state, storage], stays: [] }
}

/** Why an object that is being deleted is still there, and the way out where there is one. */
export interface Holdup {
  readonly since: string
  readonly why: Words
  readonly message: string
  readonly out: ReadonlyArray<Words>
  /** To be typed into a terminal. */
  readonly commands: ReadonlyArray<string>
}

export const holdupOf = (object: unknown): Holdup | undefined => {
  const since = valueAt(object, ["metadata", "deletionTimestamp"])
  if (typeof since !== "string") return undefined
  const [namespace, name] = ["namespace", "name"].map((key) =>
    String(valueAt(object, ["metadata", key]) ?? ""),
  )
  const failed = conditionsOf(object).find(
    ({ status, reason }) =>
      status === "False" &&
      ["WaitingForStorageCleanup", "StorageCleanupFailed", "TargetDeleteFailed", "UninstallFailed"].includes(
        reason,
      ),
  )
  const message = failed?.message ?? ""
  const skip = `kubectl -n ${namespace} annotate pi ${name} ${crd.skipStorageCleanup}=true`
  switch (failed?.reason) {
    case "WaitingForStorageCleanup":
      return {
        since,
        why: say("It waits for Jobs or pods of the storage clean-up to end."),
        message,
        out: [
          say("A pod whose node is gone never ends by itself. Delete it by force, as the last resort."),
          say("Or leave the directory where it is:"),
        ],
        commands: [skip],
      }
    case "StorageCleanupFailed":
      return {
        since,
        why: say("The storage root could not be removed. It is tried again, at growing intervals."),
        message,
        out: [say("Mend what the message says, or leave the directory where it is:")],
        commands: [skip],
      }
    case "TargetDeleteFailed":
    case "UninstallFailed":
      return {
        since,
        why: say("A step of the deletion failed. It is tried again, at growing intervals."),
        message,
        out: [
          say(
            "Mend what the message says. Do not remove the finalizer by hand: what is left would stay for ever.",
          ),
        ],
        commands: [],
      }
    default:
      return {
        since,
        why: say("The operator is removing what belongs to it."),
        message,
        out: [
          say(
            "Nothing happens while the operator is not running: it alone releases the finalizer {{name}}.",
            { name: crd.finalizer },
          ),
        ],
        commands: [],
      }
  }
}
