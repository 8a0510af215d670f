// The services at the operator's edge, with every call going through it.
import { Effect, FileSystem, PlatformError, Stream } from "effect"
import { type ChildProcess, ChildProcessSpawner } from "effect/process"
import { Disk, DiskError } from "../../../src/services/Disk/Disk.ts"
import type { Http, HttpRequest } from "../../../src/services/Kubernetes/Http.ts"
import type { Kubernetes, KubernetesClient } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { Processes } from "../../../src/services/Process/Processes.ts"
import { FileError, type FileErrorCode } from "../files/FileError.ts"
import { platformError } from "../files/FileSystemTwin.ts"
import type { Edge } from "./Edge.ts"

/** A call of a service by its name: the way most of them are described. */
const system =
  <E>(edge: Edge, writes: boolean, failure: (code: FileErrorCode, name: string, path: string) => E) =>
  (name: string) =>
  <Args extends ReadonlyArray<unknown>, A, R>(call: (...args: Args) => Effect.Effect<A, E, R>) =>
  (...args: Args): Effect.Effect<A, E, R> => {
    // Of many paths, the first one stands for all.
    const paths = args
      .map((arg): unknown => (Array.isArray(arg) ? arg[0] : arg))
      .filter((arg) => typeof arg === "string")
    return edge.through(
      {
        what: () => [name, ...paths].join(" "),
        writes,
        interruptible: false,
        failure: (code) => failure(code, name, paths[0] ?? ""),
      },
      call(...args),
    )
  }

const diskFailure = (code: FileErrorCode, name: string, path: string) =>
  new DiskError({ path, code, message: new FileError(code, name, path).message })

const fileFailure = (code: FileErrorCode, name: string, path: string) =>
  platformError(name.replace("fs.", ""), path)(new FileError(code, name.replace("fs.", ""), path))

/** As libuv and Effect's Node layer say it of a child that cannot be started. */
const spawnFailure = (command: string) => (code: FileErrorCode) =>
  PlatformError.systemError({
    _tag: "Unknown",
    module: "ChildProcess",
    method: "spawn",
    pathOrDescriptor: command,
    cause: new Error(`spawn ${command} ${code}`),
  })

export const edgeDisk = (edge: Edge, disk: Disk["Service"]): Disk["Service"] => {
  const read = system(edge, false, diskFailure)
  const write = system(edge, true, diskFailure)
  return Disk.of({
    lstat: read("lstat")(disk.lstat),
    lstatAll: read("lstatAll")(disk.lstatAll),
    realpath: read("realpath")(disk.realpath),
    readdir: read("readdir")(disk.readdir),
    readlink: read("readlink")(disk.readlink),
    readFile: read("readFile")(disk.readFile),
    sha256All: read("sha256All")(disk.sha256All),
    writeNew: write("writeNew")(disk.writeNew),
    mkdir: write("mkdir")(disk.mkdir),
    chmod: write("chmod")(disk.chmod),
    chmodFolder: write("chmodFolder")(disk.chmodFolder),
    rename: write("rename")(disk.rename),
    unlink: write("unlink")(disk.unlink),
    rmdir: write("rmdir")(disk.rmdir),
    removeTree: write("removeTree")(disk.removeTree),
    syncFile: write("syncFile")(disk.syncFile),
    syncFolder: write("syncFolder")(disk.syncFolder),
    space: read("space")(disk.space),
  })
}

export const edgeFileSystem = (edge: Edge, fs: FileSystem.FileSystem): FileSystem.FileSystem => {
  const read = system(edge, false, fileFailure)
  const write = system(edge, true, fileFailure)
  const makeTempDirectory = write("fs.makeTempDirectory")(fs.makeTempDirectory)
  const makeTempFile = write("fs.makeTempFile")(fs.makeTempFile)
  const remove = write("fs.remove")(fs.remove)
  const removeAll = (path: string) => Effect.ignore(remove(path, { recursive: true, force: true }))
  return FileSystem.make({
    ...fs,
    access: read("fs.access")(fs.access),
    lstat: read("fs.lstat")(fs.lstat),
    stat: read("fs.stat")(fs.stat),
    readDirectory: read("fs.readDirectory")(fs.readDirectory),
    readDirectoryEntries: read("fs.readDirectoryEntries")(fs.readDirectoryEntries),
    readFile: read("fs.readFile")(fs.readFile),
    readLink: read("fs.readLink")(fs.readLink),
    realPath: read("fs.realPath")(fs.realPath),
    chmod: write("fs.chmod")(fs.chmod),
    copy: write("fs.copy")(fs.copy),
    copyFile: write("fs.copyFile")(fs.copyFile),
    link: write("fs.link")(fs.link),
    makeDirectory: write("fs.makeDirectory")(fs.makeDirectory),
    makeTempDirectory,
    makeTempFile,
    makeTempDirectoryScoped: (options) => Effect.acquireRelease(makeTempDirectory(options), removeAll),
    makeTempFileScoped: (options) => Effect.acquireRelease(makeTempFile(options), removeAll),
    open: write("fs.open")(fs.open),
    remove,
    rename: write("fs.rename")(fs.rename),
    symlink: write("fs.symlink")(fs.symlink),
    truncate: write("fs.truncate")(fs.truncate),
    utimes: write("fs.utimes")(fs.utimes),
    writeFile: write("fs.writeFile")(fs.writeFile),
  })
}

export const edgeProcesses = (edge: Edge, processes: Processes["Service"]): Processes["Service"] => {
  const one = (name: string) => ({ what: () => name, writes: false, interruptible: false })
  return Processes.of({
    stat: (pid) => edge.through(one(`stat ${pid}`), processes.stat(pid)),
    all: edge.through(one("processes"), processes.all),
    environment: (pid) => edge.through(one(`environment ${pid}`), processes.environment(pid)),
    bootTimeMillis: edge.through(one("boot time"), processes.bootTimeMillis),
    signal: (pid, signal) =>
      edge.through(
        { what: () => `signal ${signal} ${pid}`, writes: true, interruptible: false },
        processes.signal(pid, signal),
      ),
  })
}

const describeCommand = (command: ChildProcess.Command): string =>
  command._tag === "StandardCommand" ? [command.command, ...command.args].join(" ") : command._tag

/** What a child says counts as a call, too: so the operator dies at any moment of what the child does. */
const edgeOutput = <E>(edge: Edge, pid: number, output: Stream.Stream<Uint8Array, E>) =>
  Stream.mapEffect(output, (chunk) =>
    edge.through(
      { what: () => `output of ${pid}`, writes: true, interruptible: true },
      Effect.succeed(chunk),
    ),
  )

export const edgeSpawner = (
  edge: Edge,
  spawner: ChildProcessSpawner.ChildProcessSpawner["Service"],
): ChildProcessSpawner.ChildProcessSpawner["Service"] =>
  ChildProcessSpawner.make((command) =>
    edge.through(
      {
        what: () => `spawn ${describeCommand(command)}`,
        writes: true,
        interruptible: false,
        failure: spawnFailure(describeCommand(command)),
      },
      Effect.map(spawner.spawn(command), (child) =>
        ChildProcessSpawner.makeHandle({
          ...child,
          stdout: edgeOutput(edge, child.pid, child.stdout),
          kill: (options) =>
            edge.through(
              { what: () => `kill ${child.pid}`, writes: true, interruptible: false },
              child.kill(options),
            ),
        }),
      ),
    ),
  )

/** A look through HTTP is a GET, and the two POSTs that write nothing. */
const writes = ({ method, path }: HttpRequest): boolean =>
  method !== "GET" && !path.includes("selfsubjectreviews") && !path.includes("dryRun=All")

export const edgeHttp = (edge: Edge, http: Http): Http => {
  const options = (request: HttpRequest) => ({
    what: () => `${request.method} ${request.path}`,
    writes: writes(request),
    interruptible: true,
  })
  return {
    json: (request) => edge.through(options(request), http.json(request)),
    text: (request) => edge.through(options(request), http.text(request)),
    bytes: (request) => edge.through(options(request), http.bytes(request)),
  }
}

const describeRef = ({ namespace, name }: { readonly namespace?: string; readonly name?: string }) =>
  `${namespace ?? ""}/${name ?? ""}`

/** A client of another cluster: its calls go through the edge, too. */
const edgeClient = (edge: Edge, client: KubernetesClient): KubernetesClient => {
  const call = <A, E, R>(
    verb: string,
    subject: () => string,
    effect: Effect.Effect<A, E, R>,
    writes = false,
  ) => edge.through({ what: () => `inside: ${verb} ${subject()}`, writes, interruptible: true }, effect)
  return {
    get: (kind, ref, options) =>
      call("get", () => `${kind.plural} ${describeRef(ref)}`, client.get(kind, ref, options)),
    list: (kind, options) => call("list", () => kind.plural, client.list(kind, options)),
    create: (kind, manifest) =>
      call(
        "create",
        () => `${kind.plural} ${describeRef(manifest.metadata)}`,
        client.create(kind, manifest),
        true,
      ),
    apply: (kind, manifest, options) =>
      call(
        "apply",
        () => `${kind.plural} ${describeRef(manifest.metadata)}`,
        client.apply(kind, manifest, options),
        options?.dryRun !== true,
      ),
    patch: (kind, ref, patch, options) =>
      call(
        "patch",
        () => `${kind.plural} ${describeRef(ref)}`,
        client.patch(kind, ref, patch, options),
        options?.dryRun !== true,
      ),
    delete: (kind, ref, options) =>
      call("delete", () => `${kind.plural} ${describeRef(ref)}`, client.delete(kind, ref, options), true),
    raw: (path) => call("GET", () => path, client.raw(path)),
  }
}

export const edgeConnect =
  (edge: Edge, connect: Kubernetes["Service"]["connect"]): Kubernetes["Service"]["connect"] =>
  (kubeconfig, options) =>
    Effect.map(connect(kubeconfig, options), (client) => edgeClient(edge, client))
