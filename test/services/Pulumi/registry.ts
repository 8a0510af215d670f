// A registry of a few lines, on loopback: packuments and tarballs, what is asked of it, and refusals on demand.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type RequestListener } from "node:http"
import { createServer as createSecureServer } from "node:https"
import { tmpdir } from "node:os"
import path from "node:path"
import { Effect } from "effect"

export interface PackageSource {
  readonly name: string
  readonly version: string
  /** Beside package.json: path and content. */
  readonly files: Readonly<Record<string, string>>
  readonly manifest?: Readonly<Record<string, unknown>>
}

/** As npm packs it: everything under `package/`. */
const pack = (source: PackageSource): Buffer => {
  const root = mkdtempSync(path.join(tmpdir(), "pack-"))
  const write = (name: string, content: string) => {
    const file = path.join(root, "package", name)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, content)
  }
  const { name, version, manifest } = source
  write("package.json", JSON.stringify({ name, version, ...manifest }))
  for (const [file, content] of Object.entries(source.files)) write(file, content)
  execFileSync("tar", ["-czf", path.join(root, "package.tgz"), "-C", root, "package"])
  const tarball = readFileSync(path.join(root, "package.tgz"))
  rmSync(root, { recursive: true })
  return tarball
}

export interface Registry {
  readonly url: string
  /** Path of each request, in order. */
  readonly requests: Array<string>
  /** Answers every request with this status when it is set. */
  refuse: number | undefined
  /** What becomes of each tarball when it is set: sent in half and closed, half of it sent as if it were whole, refused, or never. */
  tarballs: "cut off" | "half" | "refused" | "never" | undefined
  /** Has these packages from now on. */
  readonly replace: (packages: ReadonlyArray<PackageSource>) => void
}

/** Serves the packages until the scope closes; with a certificate and its key, in PEM, over TLS; at any port that is free, or this. */
export const makeRegistry = (
  given: ReadonlyArray<PackageSource>,
  tls?: { readonly certificate: string; readonly key: string },
  at = 0,
) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly registry: Registry; readonly close: () => void }>((resume) => {
      // The same source is the same tarball, which says when it was packed.
      const known = new Map<PackageSource, Buffer>()
      const packOnce = (source: PackageSource) => {
        const tarball = known.get(source) ?? pack(source)
        known.set(source, tarball)
        return tarball
      }
      const packed = (sources: ReadonlyArray<PackageSource>) =>
        new Map(sources.map((source) => [`${source.name}@${source.version}`, packOnce(source)]))
      let packages = given
      let tarballs = packed(given)
      const registry: Registry = {
        url: "",
        requests: [],
        refuse: undefined,
        tarballs: undefined,
        replace: (sources) => {
          packages = sources
          tarballs = packed(sources)
        },
      }
      const packument = (name: string) => {
        const versions = packages
          .filter((source) => source.name === name)
          .map((source) => {
            const tarball = tarballs.get(`${name}@${source.version}`) ?? Buffer.alloc(0)
            const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`
            const dist = {
              tarball: `${registry.url}/-/${encodeURIComponent(name)}@${source.version}.tgz`,
              integrity,
            }
            return [source.version, { name, version: source.version, dist, ...source.manifest }] as const
          })
        return versions.length === 0
          ? undefined
          : { name, versions: Object.fromEntries(versions), "dist-tags": { latest: versions.at(-1)?.[0] } }
      }
      const answer: RequestListener = (request, response) => {
        const url = decodeURIComponent(request.url ?? "").slice(1)
        registry.requests.push(url)
        if (registry.refuse !== undefined) return response.writeHead(registry.refuse).end("{}")
        const tarball = tarballs.get(url.replace(/^-\//, "").replace(/\.tgz$/, ""))
        if (tarball !== undefined) {
          const half = tarball.subarray(0, Math.floor(tarball.length / 2))
          switch (registry.tarballs) {
            case "cut off":
              response.writeHead(200, { "content-length": tarball.length })
              return response.write(half, () => response.destroy())
            case "half":
              return response.end(half)
            case "refused":
              return response.writeHead(403).end("{}")
            case "never":
              return
            default:
              return response.end(tarball)
          }
        }
        const found = packument(url)
        response.writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" })
        response.end(JSON.stringify(found ?? { error: "not found" }))
      }
      const server =
        tls === undefined
          ? createServer(answer)
          : createSecureServer({ cert: tls.certificate, key: tls.key }, answer)
      const scheme = tls === undefined ? "http" : "https"
      server.listen(at, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(
          Effect.succeed({
            registry: Object.assign(registry, { url: `${scheme}://127.0.0.1:${port}` }),
            close: () => {
              server.closeAllConnections()
              server.close()
            },
          }),
        )
      })
    }),
    ({ close }) => Effect.sync(close),
  ).pipe(Effect.map(({ registry }) => registry))
