// Who the parts of a simulated instance are: the same again when nothing was started, made or replaced.
import { assert } from "@effect/vitest"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import type { World } from "../twins/world/World.ts"

/** Everything of the instance that was made or started, on the host and inside, by UID. */
export const identityOf = (world: World) => {
  const namespace = world.hostNamespace()
  const of = (
    api: World["admin"],
    kinds: ReadonlyArray<(typeof Kinds)["Pod"]>,
    where?: { namespace: string },
  ) =>
    kinds.flatMap((kind) =>
      api.list(kind, where).map(({ metadata }) => `${kind.kind} ${metadata.name} ${metadata.uid}`),
    )
  return [
    ...of(world.admin, [Kinds.Pod, Kinds.StatefulSet, Kinds.Service, Kinds.Secret], { namespace }),
    ...of(world.inner()?.as("kubernetes-admin") ?? assert.fail("its API serves"), [
      Kinds.ConfigMap,
      Kinds.Deployment,
      Kinds.Secret,
      Kinds.Namespace,
    ]),
  ].sort()
}
