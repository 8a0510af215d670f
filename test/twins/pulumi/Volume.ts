// The file system as the simulated programs use it.
import type { Files } from "../files/Files.ts"

export type Volume = Files

/** The text of a file; undefined when there is none. */
export const readText = (volume: Volume, path: string): string | undefined =>
  volume.isFile(path) ? volume.readText(path) : undefined

/** The texts of all files of a folder, by their paths in it. */
export const readFolder = (volume: Volume, folder: string, below = ""): ReadonlyMap<string, string> =>
  new Map(
    volume.list(`${folder}/${below}`).flatMap((name): ReadonlyArray<readonly [string, string]> => {
      const path = below === "" ? name : `${below}/${name}`
      return volume.isFolder(`${folder}/${path}`)
        ? [...readFolder(volume, folder, path)]
        : [[path, volume.readText(`${folder}/${path}`)]]
    }),
  )
