// The names that a Pulumi project of an instance is made of. They are in every state file that was ever
// written: changing one orphans the installations that carry it.
import type { InstancePaths } from "../StateStore/StateStore.ts"

/** Pulumi project name: the namespace of the config keys, and a folder in the backend. */
export const projectName = "platform-instance"
/** There is one stack an instance, in a backend of its own. */
export const stackName = "instance"
export const platformPackageName = "@di-framework/platform"

/** Pulumi's type of a Helm release. */
export const releaseType = "kubernetes:helm.sh/v3:Release"

/** Config keys that the operator's wrapper reads, beside those of the package (`wrapper/index.js` repeats them). */
export const wrapperConfig = {
  /** UID of the target's kube-system namespace; becomes the provider's `clusterIdentifier`. */
  clusterIdentifier: "clusterIdentifier",
  /** Encrypted. When it is there, the wrapper writes the Secret `platform-operator-tenant-auth`. */
  clientSecret: "tenantAuthClientSecret",
  /** Path of the kubeconfig file; the package itself reads it. */
  kubeconfig: "kubeconfig",
} as const

export const backendUrl = (paths: InstancePaths): string => `file://${paths.backend}`
/** Lock files of the file backend (seen: CLI 3.274.1). */
export const locksDirectory = (paths: InstancePaths): string =>
  `${paths.backend}/.pulumi/locks/organization/${projectName}/${stackName}`
/** The state, without its extension: `.json`, or `.json.gz` once it was written packed. */
export const stateFile = (paths: InstancePaths): string =>
  `${paths.backend}/.pulumi/stacks/${projectName}/${stackName}`
/** A checkpoint and an entry of each operation. */
export const historyDirectory = (paths: InstancePaths): string =>
  `${paths.backend}/.pulumi/history/${projectName}/${stackName}`
/** The stack's config and salt. Each operation sets the whole config; the salt is in the state, too. */
export const settingsFile = (paths: InstancePaths): string => `${paths.project}/Pulumi.${stackName}.yaml`
/** A state that was cut off, until an operation from what was put in its place has succeeded; then the other. */
export const damagedStateFile = (paths: InstancePaths): string => `${paths.root}/state-damaged`
export const recoveredStateFile = (paths: InstancePaths): string => `${paths.root}/state-damaged-recovered`
/** Exports of the state: what `pulumi stack import` takes. */
export const exportsDirectory = (paths: InstancePaths): string => `${paths.root}/exports`
/** The one export that earlier releases have written. */
export const earlierExportFile = (paths: InstancePaths): string => `${paths.root}/state-before-repair.json`
