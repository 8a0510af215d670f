// Folders of the node that tests put something into, as an administrator or a tenant would.
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { fromNode } from "./Cluster.ts"

const alive = "alive"

/** A file whose loss a test would notice. */
export const putCanary = (path: string): void => {
  mkdirSync(dirname(fromNode(path)), { recursive: true })
  writeFileSync(fromNode(path), alive)
}
export const isAlive = (path: string): boolean =>
  existsSync(fromNode(path)) && readFileSync(fromNode(path), "utf8") === alive

/** Links of every kind in a tenant's folder that lead out of it, to a file. */
export const putLinksOut = (folder: string, target: string): void => {
  const here = fromNode(folder)
  mkdirSync(`${here}/deep/deeper`, { recursive: true })
  symlinkSync(dirname(target), `${here}/absolute`)
  symlinkSync(`${"../".repeat(folder.split("/").length)}${target.slice(1)}`, `${here}/relative`)
  symlinkSync("..", `${here}/deep/up`)
  symlinkSync("/", `${here}/deep/deeper/root`)
  symlinkSync("/nowhere", `${here}/dangling`)
  linkSync(fromNode(target), `${here}/hard`)
}

/** A link in the place of a folder, as an administrator leaves one who has moved it: `target` is relative to it. */
export const putLink = (path: string, target: string): void => {
  mkdirSync(dirname(fromNode(path)), { recursive: true })
  symlinkSync(target, fromNode(path))
}

export const removeFolder = (path: string): void => rmSync(fromNode(path), { recursive: true, force: true })
export const isThere = (path: string): boolean => existsSync(fromNode(path))
