// Image registries, what is on the node of them, and which program an image is.

import type { Container } from "../Shapes.ts"
import { type ContainerProgram, idle } from "./Program.ts"

type Match = (image: string, container: Container) => boolean

/** Without tag and digest. */
export const repositoryOf = (image: string): string => {
  const plain = image.split("@")[0] ?? image
  const colon = plain.lastIndexOf(":")
  return colon > plain.lastIndexOf("/") ? plain.slice(0, colon) : plain
}

export class Images {
  readonly #programs: Array<{ readonly match: Match; readonly program: ContainerProgram }> = []
  readonly #missing: Array<(image: string) => boolean> = []
  readonly #present = new Set<string>()
  #reachable = true
  /** Milliseconds that a pull takes, at least and at most. */
  pullTakes: readonly [number, number] = [500, 4_000]

  /** The newest registration that matches counts. An image without one serves and does nothing. */
  register(match: string | Match, program: ContainerProgram): void {
    const matches =
      typeof match === "string" ? (image: string) => repositoryOf(image) === match || image === match : match
    this.#programs.unshift({ match: matches, program })
  }

  programOf(container: Container): ContainerProgram {
    return this.#programs.find(({ match }) => match(container.image, container))?.program ?? idle
  }

  /** No registry has it, until the returned function is called. */
  remove(image: string): () => void {
    const match = (asked: string) => asked === image || repositoryOf(asked) === image
    this.#missing.push(match)
    for (const each of this.#present) if (match(each)) this.#present.delete(each)
    return () => {
      this.#missing.splice(this.#missing.indexOf(match), 1)
    }
  }

  /** No registry answers; what is on the node can still be started. */
  cutOff(): void {
    this.#reachable = false
  }

  reconnect(): void {
    this.#reachable = true
  }

  isPresent(image: string): boolean {
    return this.#present.has(image)
  }

  /** The error of a pull, or nothing when the image is on the node now. */
  pull(image: string): string | undefined {
    const failed = `failed to pull and unpack image "${image}": failed to resolve reference "${image}"`
    if (!this.#reachable) {
      const [named = "", ...path] = repositoryOf(image).split("/")
      const host = named === "docker.io" ? "registry-1.docker.io" : named
      const tag = image.slice(repositoryOf(image).length + 1) || "latest"
      const asked = `https://${host}/v2/${path.join("/")}/manifests/${tag}`
      return `${failed}: failed to do request: Head "${asked}": dial tcp: lookup ${host} on 10.96.0.10:53: no such host`
    }
    if (this.#missing.some((match) => match(image)))
      return `rpc error: code = NotFound desc = ${failed}: ${image}: not found`
    this.#present.add(image)
    return undefined
  }
}
