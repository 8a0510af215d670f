// A registry on loopback with the verbs of the twin's: packuments, tarballs, and what can go wrong with them.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import path from "node:path"
import { Effect } from "effect"
import { makeRegistry, type Published, type Registry } from "../../twins/npm/Registry.ts"

const pack = ({ files }: Published): Buffer => {
  const root = mkdtempSync(path.join(tmpdir(), "pack-"))
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(root, "package", name)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  execFileSync("tar", ["-czf", path.join(root, "package.tgz"), "-C", root, "package"])
  const tarball = readFileSync(path.join(root, "package.tgz"))
  rmSync(root, { recursive: true })
  return tarball
}

const tarballs = new Map<Published, Buffer>()
const tarballOf = (published: Published): Buffer => {
  const known = tarballs.get(published) ?? pack(published)
  tarballs.set(published, known)
  return known
}

const packument = (url: string, name: string, found: ReadonlyArray<Published>) => ({
  name,
  "dist-tags": { latest: found.at(-1)?.version },
  versions: Object.fromEntries(
    found.map((published) => {
      const { version, dependencies } = published
      const integrity = `sha512-${createHash("sha512").update(tarballOf(published)).digest("base64")}`
      const tarball = `${url}/-/${encodeURIComponent(name)}@${version}.tgz`
      return [version, { name, version, dependencies, dist: { tarball, integrity } }]
    }),
  ),
})

/** Answers as the registry of the twin says that it would: the state and its verbs are shared. */
const serve = (registry: Registry, url: string, request: IncomingMessage, response: ServerResponse): void => {
  const met = registry.meet()
  if (met._tag === "Hangs") return
  if (met._tag === "Refuses") return void request.socket.destroy()
  if (met._tag === "Status") return void response.writeHead(met.status).end("{}")
  const wanted = decodeURIComponent(request.url ?? "").slice(1)
  const [, name = "", version = ""] = /^-\/(.+)@([^@]+)\.tgz$/.exec(wanted) ?? []
  const published = registry.find(name).find((one) => one.version === version)
  if (published !== undefined) {
    return void response.end(registry.isTampered(name) ? Buffer.from("something else") : tarballOf(published))
  }
  const found = registry.find(wanted)
  response.writeHead(found.length === 0 ? 404 : 200, { "content-type": "application/json" })
  response.end(JSON.stringify(found.length === 0 ? { error: "not found" } : packument(url, wanted, found)))
}

/** Until the scope closes. Nobody listens while it refuses. */
export const serveRegistry = Effect.gen(function* () {
  const registry = makeRegistry()
  const server = createServer()
  const listen = (port: number) =>
    Effect.callback<number>((resume) => {
      server.listen(port, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
      })
    })
  const port = yield* Effect.acquireRelease(listen(0), () =>
    Effect.sync(() => {
      server.closeAllConnections()
      server.close()
    }),
  )
  const url = `http://127.0.0.1:${port}`
  server.on("request", (request, response) => serve(registry, url, request, response))
  return { registry, url }
})
