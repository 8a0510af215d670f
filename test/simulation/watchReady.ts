import type { World } from "../twins/world/World.ts"

/** Whether the instance was Ready all the while, from now on. */
export const watchReady = (world: World) => {
  let ready = true
  world.host.subscribe(({ kind }) => {
    if (kind.kind === "PlatformInstance") ready &&= world.isReady()
  })
  return () => ready
}
