// CommonJS over the file system twin: what lies in a package folder is what runs. A module is looked for as Node does it,
// from the real path of the one that asks, in folders called `node_modules`.
import path from "node:path"
import { compileFunction } from "node:vm"
import { Schema } from "effect"
import { readText, type Volume } from "../Volume.ts"

const Manifest = Schema.fromJsonString(
  Schema.Struct({
    main: Schema.optionalKey(Schema.String),
    exports: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  }),
)
const decodeManifest = Schema.decodeSync(Manifest)

export class ModuleNotFound extends Error {
  readonly code = "MODULE_NOT_FOUND"
}

const notFound = (name: string, from: string) =>
  new ModuleNotFound(`Cannot find module '${name}'\nRequire stack:\n- ${from}`)

/** `@scope/name/rest` in its two parts. */
const parts = (request: string): readonly [name: string, rest: string] => {
  const segments = request.split("/")
  const length = request.startsWith("@") ? 2 : 1
  return [segments.slice(0, length).join("/"), segments.slice(length).join("/")]
}

const asFile = (volume: Volume, file: string): string | undefined =>
  [file, `${file}.js`, `${file}.json`, `${file}/index.js`].find((each) => volume.isFile(each))

/** The folder of a package, from the folder of who asks for it. */
export const packageFolder = (volume: Volume, name: string, from: string): string | undefined => {
  for (let folder = from; ; folder = path.dirname(folder)) {
    const candidate = `${folder}/node_modules/${name}`
    if (path.basename(folder) !== "node_modules" && volume.exists(candidate))
      return volume.realpath(candidate)
    if (folder === "/" || folder === ".") return undefined
  }
}

export const resolveModule = (volume: Volume, request: string, from: string): string => {
  const folder = volume.exists(path.dirname(from)) ? volume.realpath(path.dirname(from)) : path.dirname(from)
  if (request.startsWith(".") || request.startsWith("/")) {
    const found = asFile(volume, path.resolve(folder, request))
    if (found === undefined) throw notFound(request, from)
    return volume.realpath(found)
  }
  const [name, rest] = parts(request)
  const root = packageFolder(volume, name, folder)
  const manifest = root === undefined ? undefined : readText(volume, `${root}/package.json`)
  if (root === undefined || manifest === undefined) throw notFound(request, from)
  const { exports, main } = decodeManifest(manifest)
  const entry =
    exports === undefined ? rest || (main ?? "index.js") : exports[rest === "" ? "." : `./${rest}`]
  const found = entry === undefined ? undefined : asFile(volume, path.join(root, entry))
  if (found === undefined) throw notFound(request, from)
  return found
}

/** Compiling is the dear part of loading, and the same text is loaded at every operation. */
const compiled = new Map<string, ReturnType<typeof compileFunction>>()

const compile = (text: string, filename: string) => {
  const known = compiled.get(text)
  if (known !== undefined) return known
  const made = compileFunction(text, ["exports", "require", "module", "__filename", "__dirname"], {
    filename,
  })
  compiled.set(text, made)
  return made
}

export type Require = ((request: string) => unknown) & {
  readonly resolve: (request: string) => string
  readonly cache: Readonly<Record<string, unknown>>
}

export interface Loader {
  /** `createRequire` of Node. */
  readonly requireFrom: (file: string) => Require
}

/**
 * The modules of one process. `given` takes the place of packages and of Node's own modules; a package has to be in its
 * folder all the same. `rewrite` may change a text before it is compiled.
 */
export const makeLoader = (
  volume: Volume,
  given: (name: string) => unknown,
  rewrite: (file: string, text: string) => string = (_, text) => text,
): Loader => {
  const cache: Record<string, { exports: unknown }> = {}

  const load = (file: string): unknown => {
    const known = cache[file]
    if (known !== undefined) return known.exports
    const module: { exports: unknown } = { exports: {} }
    cache[file] = module
    const text = rewrite(file, readText(volume, file) ?? "")
    try {
      if (file.endsWith(".json")) module.exports = JSON.parse(text)
      else {
        compile(text, file).call(
          module.exports,
          module.exports,
          requireFrom(file),
          module,
          file,
          path.dirname(file),
        )
      }
    } catch (error) {
      delete cache[file]
      throw error
    }
    return module.exports
  }

  const requireFrom = (file: string): Require => {
    const folder = path.dirname(file)
    const need = (request: string): unknown => {
      const substitute = given(request)
      if (substitute === undefined) return load(resolveModule(volume, request, file))
      const [name] = parts(request)
      if (!request.startsWith("node:") && packageFolder(volume, name, folder) === undefined) {
        throw notFound(request, file)
      }
      return substitute
    }
    return Object.assign(need, { resolve: (request: string) => resolveModule(volume, request, file), cache })
  }
  return { requireFrom }
}
