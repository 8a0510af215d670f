// What an operation and a preview have in common: what the program is told, what must not be repeated of it, and whether
// the target is the one that the state is for.
import { Data, Effect, FileSystem, Option, Redacted } from "effect"
import { Namespace } from "../Kubernetes/Kinds.ts"
import { Kubernetes } from "../Kubernetes/Kubernetes.ts"
import type { InstancePaths } from "../StateStore/StateStore.ts"
import { projectName, stackName, wrapperConfig } from "./Layout.ts"
import type { PulumiOptions } from "./Options.ts"
import type { RunRequest } from "./Protocol.ts"
import type { PreviewRequest } from "./Pulumi.ts"
import { kubeconfigSecrets, redaction } from "./Redact.ts"
import type { Workspace } from "./Workspace.ts"

export class PassphraseMissing extends Data.TaggedError("PassphraseMissing")<{ readonly message: string }> {}

/** Takes all that this operation knows of secrets out of a text; fails when the passphrase cannot be read. */
export const redactionFor = Effect.fn("Pulumi.readPassphrase")(function* (
  { kubeconfig, secretConfig }: Pick<PreviewRequest, "kubeconfig" | "secretConfig">,
  { passphraseFile }: PulumiOptions,
) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs.readFileString(passphraseFile).pipe(Effect.option)
  const passphrase = Option.filter(text, (passphrase) => passphrase.trim() !== "")
  if (Option.isNone(passphrase)) {
    return yield* new PassphraseMissing({
      message: `The passphrase file ${passphraseFile} is missing or empty; put back the passphrase Secret that this installation was made with`,
    })
  }
  return redaction([
    passphrase.value,
    ...kubeconfigSecrets(Redacted.value(kubeconfig)),
    ...[...secretConfig.values()].map(Redacted.value),
  ])
})

/** What the runner is asked, with the project in these folders. */
export const programRequest = (
  request: Pick<PreviewRequest, "config" | "secretConfig" | "clusterIdentifier">,
  { project }: InstancePaths,
  workspace: Workspace,
): RunRequest => ({
  type: "run",
  projectDirectory: project,
  project: projectName,
  stack: stackName,
  config: {
    ...Object.fromEntries(request.config),
    [wrapperConfig.kubeconfig]: workspace.kubeconfig,
    [wrapperConfig.clusterIdentifier]: request.clusterIdentifier,
  },
  secretConfig: Object.fromEntries(
    [...request.secretConfig].map(([key, value]) => [key, Redacted.value(value)]),
  ),
  refresh: false,
})

/**
 * A sentence when the target is another cluster than the state's; fails when it does not answer. Whoever refreshes against
 * silence, or against another cluster, drops from the state what is there.
 */
export const otherCluster = Effect.fnUntraced(function* ({
  kubeconfig,
  clusterIdentifier,
}: Pick<PreviewRequest, "kubeconfig" | "clusterIdentifier">) {
  const client = yield* (yield* Kubernetes).connect(kubeconfig)
  const system = yield* client.get(Namespace, { name: "kube-system" })
  const uid = Option.map(system, ({ metadata }) => metadata.uid)
  return Option.contains(uid, clusterIdentifier)
    ? Option.none()
    : Option.some(
        `The target is another cluster (kube-system ${Option.getOrElse(uid, () => "missing")}) than the one this state is for (${clusterIdentifier})`,
      )
}, Effect.scoped)
