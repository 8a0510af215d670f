// The disks of the node's volumes. A program keeps what it writes there under a key of its own; it is lost with the volume
// and survives everything else.

/** An opaque disk: who uses it knows what is on it (a WeakMap by this object). */
export class NodeVolume {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

export class Storage {
  readonly #volumes = new Map<string, NodeVolume>()

  /** By the name of a PersistentVolume, or `<pod UID>/<volume>` of an emptyDir. */
  open(name: string): NodeVolume {
    const volume = this.#volumes.get(name) ?? new NodeVolume(name)
    this.#volumes.set(name, volume)
    return volume
  }

  drop(name: string): void {
    this.#volumes.delete(name)
  }

  /** The emptyDirs of a pod that is gone. */
  dropOf(podUID: string): void {
    for (const name of this.#volumes.keys()) if (name.startsWith(`${podUID}/`)) this.#volumes.delete(name)
  }
}
