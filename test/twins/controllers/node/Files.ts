// The folders of the node that pods mount from it (`hostPath`): a tree of names, with symbolic links and mount points.

export type Entry =
  | { readonly type: "directory" }
  | { readonly type: "file" }
  | { readonly type: "link"; readonly to: string }

export class NodeFiles {
  readonly #entries = new Map<string, Entry>([["/", { type: "directory" }]])
  readonly #mounts = new Set<string>()
  readonly #refusals = new Map<string, string>()

  get(path: string): Entry | undefined {
    return this.#entries.get(path)
  }

  /** With all the folders above it. */
  makeDirectory(path: string): void {
    const parts = path.split("/").filter((part) => part !== "")
    for (let length = 1; length <= parts.length; length++) {
      const each = `/${parts.slice(0, length).join("/")}`
      if (!this.#entries.has(each)) this.#entries.set(each, { type: "directory" })
    }
  }

  put(path: string, entry: Entry): void {
    this.makeDirectory(path.slice(0, path.lastIndexOf("/")))
    this.#entries.set(path, entry)
  }

  /** All paths below, deepest first. */
  below(path: string): ReadonlyArray<string> {
    return [...this.#entries.keys()]
      .filter((each) => each.startsWith(`${path}/`))
      .toSorted((a, b) => b.length - a.length)
  }

  /** The first path that could not be removed, with its error code; nothing when all is gone. */
  removeTree(path: string): { readonly path: string; readonly code: string } | undefined {
    for (const each of [...this.below(path), path]) {
      const code = this.#refusals.get(each)
      if (code !== undefined) return { path: each, code }
      this.#entries.delete(each)
    }
    return undefined
  }

  /** Follows symbolic links, as the kubelet does when it mounts a folder. */
  resolve(path: string): string {
    let resolved = ""
    for (const part of path.split("/").filter((each) => each !== "")) {
      const next = `${resolved}/${part}`
      const entry = this.#entries.get(next)
      resolved = entry?.type === "link" ? this.resolve(entry.to) : next
    }
    return resolved === "" ? "/" : resolved
  }

  /** Another file system begins here. */
  mount(path: string): () => void {
    this.makeDirectory(path)
    this.#mounts.add(path)
    return () => this.#mounts.delete(path)
  }

  /** Where the file system is mounted that this lies on: empty for the node's own. */
  mountedAt(path: string): string {
    const above = [...this.#mounts].filter((each) => path === each || path.startsWith(`${each}/`))
    return above.reduce((longest, each) => (each.length > longest.length ? each : longest), "")
  }

  mountsBelow(path: string): ReadonlyArray<string> {
    return [...this.#mounts].filter((each) => each === path || each.startsWith(`${path}/`))
  }

  /** An entry that cannot be removed, as one is that `chattr +i` has made immutable (EPERM). */
  refuse(path: string, code: string): () => void {
    this.#refusals.set(path, code)
    return () => this.#refusals.delete(path)
  }
}
