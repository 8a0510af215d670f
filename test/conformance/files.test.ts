// The file system twin is held to a real disk: the same steps on both, and the same observations.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { type FileMachine, makeFileMachines, observed } from "./fileMachines.ts"
import { agree, type Scenario, type Step } from "./Scenario.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (content: Uint8Array) => new TextDecoder().decode(content)

type Operation = (machine: FileMachine, at: (name: string) => string) => Effect.Effect<unknown, unknown>

const step = (name: string, operation: Operation): Step<FileMachine> => ({
  name,
  run: (machine) => observed(operation(machine, (below) => `${machine.root}/${below}`)),
})

const disk = {
  writeNew: (name: string, content: string, mode = 0o600) =>
    step(`write new ${name}`, ({ disk }, at) => disk.writeNew(at(name), bytes(content), mode)),
  read: (name: string) => step(`read ${name}`, ({ disk }, at) => Effect.map(disk.readFile(at(name)), text)),
  lstat: (name: string) =>
    step(`lstat ${name}`, ({ disk }, at) =>
      Effect.map(disk.lstat(at(name)), ({ kind, mode, size }) => ({
        kind,
        mode,
        ...(kind === "directory" ? {} : { size }),
      })),
    ),
  list: (name: string) =>
    step(`list ${name}`, ({ disk }, at) =>
      Effect.map(disk.readdir(at(name)), (entries) =>
        entries.map(({ kind, name }) => `${kind} ${name}`).sort(),
      ),
    ),
  mkdir: (name: string, mode = 0o700) => step(`mkdir ${name}`, ({ disk }, at) => disk.mkdir(at(name), mode)),
  rename: (from: string, to: string) =>
    step(`rename ${from} to ${to}`, ({ disk }, at) => disk.rename(at(from), at(to))),
  unlink: (name: string) => step(`unlink ${name}`, ({ disk }, at) => disk.unlink(at(name))),
  rmdir: (name: string) => step(`rmdir ${name}`, ({ disk }, at) => disk.rmdir(at(name))),
  removeTree: (name: string) => step(`remove tree ${name}`, ({ disk }, at) => disk.removeTree(at(name))),
  chmod: (name: string, mode: number) => step(`chmod ${name}`, ({ disk }, at) => disk.chmod(at(name), mode)),
  chmodFolder: (name: string, mode: number) =>
    step(`chmod folder ${name}`, ({ disk }, at) => disk.chmodFolder(at(name), mode)),
  readlink: (name: string) => step(`readlink ${name}`, ({ disk }, at) => disk.readlink(at(name))),
  realpath: (name: string) => step(`realpath ${name}`, ({ disk }, at) => disk.realpath(at(name))),
  syncFile: (name: string) => step(`sync file ${name}`, ({ disk }, at) => disk.syncFile(at(name))),
  syncFolder: (name: string) => step(`sync ${name}`, ({ disk }, at) => disk.syncFolder(at(name))),
  sha256All: (...names: ReadonlyArray<string>) =>
    step(`digests of ${names.length}`, ({ disk }, at) => disk.sha256All(names.map(at))),
  lstatAll: (...names: ReadonlyArray<string>) =>
    step(`stats of ${names.length}`, ({ disk }, at) =>
      Effect.map(disk.lstatAll(names.map(at)), (stats) =>
        stats.map(({ kind, mode, size }) => ({ kind, mode, ...(kind === "directory" ? {} : { size }) })),
      ),
    ),
}

const fs = {
  write: (name: string, content: string, options?: { mode?: number; flag?: "w" | "wx" | "a" }) =>
    step(`write ${name}`, ({ fs }, at) => fs.writeFileString(at(name), content, options)),
  read: (name: string) => step(`read text ${name}`, ({ fs }, at) => fs.readFileString(at(name))),
  exists: (name: string) => step(`exists ${name}`, ({ fs }, at) => fs.exists(at(name))),
  mkdir: (name: string, options?: { recursive?: boolean; mode?: number }) =>
    step(`make ${name}`, ({ fs }, at) => Effect.asVoid(fs.makeDirectory(at(name), options))),
  remove: (name: string, options?: { recursive?: boolean; force?: boolean }) =>
    step(`remove ${name} ${JSON.stringify(options ?? {})}`, ({ fs }, at) => fs.remove(at(name), options)),
  symlink: (target: string, name: string) =>
    step(`symlink ${name}`, ({ fs }, at) => fs.symlink(target, at(name))),
  readLink: (name: string) => step(`read link ${name}`, ({ fs }, at) => fs.readLink(at(name))),
  rename: (from: string, to: string) =>
    step(`rename ${from} to ${to}`, ({ fs }, at) => fs.rename(at(from), at(to))),
  link: (from: string, to: string) => step(`link ${from}, ${to}`, ({ fs }, at) => fs.link(at(from), at(to))),
  list: (name: string) =>
    step(`list ${name}`, ({ fs }, at) => Effect.map(fs.readDirectory(at(name)), (names) => names.sort())),
  stat: (name: string) =>
    step(`stat ${name}`, ({ fs }, at) => Effect.map(fs.stat(at(name)), ({ mode, type }) => ({ type, mode }))),
  copyFile: (from: string, to: string) =>
    step(`copy ${from} to ${to}`, ({ fs }, at) => fs.copyFile(at(from), at(to))),
  truncate: (name: string, length?: number) =>
    step(`truncate ${name}`, ({ fs }, at) => fs.truncate(at(name), length)),
  access: (name: string, how: { readable?: boolean; writable?: boolean }) =>
    step(`access ${name} ${JSON.stringify(how)}`, ({ fs }, at) => fs.access(at(name), how)),
  chmod: (name: string, mode: number) => step(`chmod ${name}`, ({ fs }, at) => fs.chmod(at(name), mode)),
}

const onDisk: Scenario<FileMachine> = {
  name: "what must be durable",
  steps: [
    disk.mkdir("a"),
    disk.mkdir("a"),
    disk.lstat("a"),
    disk.mkdir("missing/b"),
    disk.writeNew("a/file", "one", 0o640),
    disk.writeNew("a/file", "two"),
    disk.lstat("a/file"),
    disk.read("a/file"),
    disk.read("a"),
    disk.read("a/none"),
    disk.read("a/file/below"),
    disk.syncFolder("a"),
    disk.syncFile("a/file"),
    disk.syncFile("a/none"),
    disk.syncFile("a/file/below"),
    disk.syncFolder("a/file"),
    disk.syncFolder("none"),
    disk.writeNew("a/next", "two"),
    disk.rename("a/next", "a/file"),
    disk.read("a/file"),
    disk.list("a"),
    disk.list("a/file"),
    disk.mkdir("b"),
    disk.mkdir("b/c"),
    disk.rename("a", "b"),
    disk.rename("b", "b/c/d"),
    disk.rename("b/c", "b"),
    disk.rename("a", "a/file"),
    disk.rename("a/file", "b"),
    disk.rename("none", "c"),
    disk.rename("a", "b/c"),
    disk.list("b"),
    disk.rmdir("b"),
    disk.rmdir("b/c/file"),
    disk.rmdir("none"),
    disk.unlink("b"),
    disk.unlink("none"),
    disk.chmod("b/c/file", 0o444),
    disk.lstat("b/c/file"),
    disk.chmodFolder("b", 0o755),
    disk.chmodFolder("b/c/file", 0o755),
    disk.lstat("b"),
    disk.removeTree("b"),
    disk.removeTree("b"),
    disk.list(""),
  ],
}

/** More than are looked at a time, of sizes around that of a piece. */
const many = Array.from({ length: 40 }, (_, index) => `many/${index}`)
const sizeOfMany = (index: number) =>
  [0, 1, 2 ** 16 - 1, 2 ** 16, 2 ** 16 + 1, 2 ** 17, 300_000][index % 7] ?? 0

const atOnce: Scenario<FileMachine> = {
  name: "many at once",
  steps: [
    disk.mkdir("many"),
    ...many.map((name, index) => disk.writeNew(name, String(index).padEnd(sizeOfMany(index), "x"))),
    disk.sha256All(),
    disk.sha256All(...many),
    disk.lstatAll(),
    disk.lstatAll(...many, "many"),
    disk.sha256All(...many, "none", ...many),
    disk.lstatAll("none", ...many),
    disk.sha256All("many", ...many),
    fs.symlink("0", "many/link"),
    disk.sha256All(...many, "many/link"),
    disk.lstatAll(...many, "many/link"),
    disk.sha256All(...many),
  ],
}

const links: Scenario<FileMachine> = {
  name: "links",
  steps: [
    disk.mkdir("real"),
    disk.writeNew("real/file", "content"),
    fs.symlink("real", "folder"),
    fs.symlink("real/file", "file"),
    fs.symlink("nowhere", "dangling"),
    fs.symlink("loop", "loop"),
    fs.symlink("real", "folder"),
    disk.lstat("folder"),
    disk.read("file"),
    disk.read("folder/file"),
    fs.read("file"),
    fs.read("dangling"),
    fs.read("loop"),
    fs.exists("dangling"),
    fs.exists("loop"),
    fs.stat("file"),
    disk.readlink("folder"),
    disk.readlink("real"),
    fs.readLink("real/file"),
    disk.realpath("folder/file"),
    disk.realpath("dangling"),
    disk.realpath("folder/../file"),
    disk.syncFolder("folder"),
    disk.syncFile("folder"),
    disk.syncFile("dangling"),
    disk.chmodFolder("folder", 0o700),
    disk.writeNew("dangling", "x"),
    fs.write("dangling", "made through the link"),
    fs.read("nowhere"),
    fs.mkdir("folder", { recursive: true }),
    fs.mkdir("folder/more", { recursive: true }),
    disk.rmdir("folder"),
    disk.rename("folder", "renamed"),
    disk.removeTree("renamed"),
    disk.list("real"),
    fs.link("real/file", "second"),
    fs.write("second", "both"),
    fs.read("real/file"),
    fs.link("real", "third"),
    fs.link("none", "third"),
    fs.link("second", "file"),
    disk.unlink("file"),
    disk.list(""),
  ],
}

const everything: Scenario<FileMachine> = {
  name: "everything else",
  steps: [
    fs.mkdir("a/b/c"),
    fs.mkdir("a/b/c", { recursive: true }),
    fs.mkdir("a/b/c", { recursive: true }),
    fs.mkdir("a/b/c"),
    fs.mkdir("d", { mode: 0o700 }),
    fs.stat("d"),
    fs.write("a/file", "text", { mode: 0o600 }),
    fs.stat("a/file"),
    fs.write("a/file", "again", { flag: "wx" }),
    fs.write("a/file", " and more", { flag: "a" }),
    fs.read("a/file"),
    fs.write("a/file", "short", { mode: 0o644 }),
    fs.read("a/file"),
    fs.stat("a/file"),
    fs.write("a", "x"),
    fs.write("none/file", "x"),
    fs.write("a/file/x", "x"),
    fs.read("a"),
    fs.read("none"),
    fs.exists("none"),
    fs.exists("a/file/x"),
    fs.mkdir("a/file", { recursive: true }),
    fs.mkdir("a/file/x", { recursive: true }),
    fs.truncate("a/file", 2),
    fs.read("a/file"),
    fs.truncate("none"),
    fs.copyFile("a/file", "copy"),
    fs.read("copy"),
    fs.copyFile("none", "copy"),
    fs.list("a"),
    fs.list("none"),
    fs.list("a/file"),
    fs.access("copy", { readable: true, writable: true }),
    fs.access("none", { readable: true }),
    fs.rename("copy", "d/copy"),
    fs.rename("none", "x"),
    fs.rename("d", "a"),
    fs.remove("none"),
    fs.remove("none", { force: true }),
    fs.remove("none", { recursive: true }),
    fs.remove("a"),
    fs.remove("a", { force: true }),
    fs.remove("a/file"),
    fs.remove("a", { recursive: true }),
    fs.remove("d", { recursive: true, force: true }),
    fs.list(""),
  ],
}

const permissions: Scenario<FileMachine> = {
  name: "permissions",
  steps: [
    fs.mkdir("a"),
    fs.write("a/file", "x"),
    fs.mkdir("a/sub"),
    disk.chmod("a", 0o500),
    disk.writeNew("a/new", "x"),
    disk.unlink("a/file"),
    disk.rename("a/file", "a/other"),
    disk.rename("a/file", "file"),
    disk.mkdir("a/more"),
    disk.rmdir("a/sub"),
    disk.read("a/file"),
    fs.write("a/file", "written in a folder that is read-only"),
    disk.chmod("a", 0o700),
    disk.rmdir("a/sub"),
    disk.chmod("a", 0o500),
    disk.removeTree("a"),
    fs.remove("a", { recursive: true, force: true }),
    // A folder that is moved elsewhere must be writable itself, for its `..` changes; under a new name it need not.
    fs.mkdir("b"),
    disk.rename("a", "b/a"),
    disk.rename("a", "c"),
    disk.chmod("c", 0o700),
    disk.rename("c", "b/c"),
    disk.chmod("b/c", 0o600),
    disk.read("b/c/file"),
    disk.list("b/c"),
    disk.lstat("b/c/file"),
    disk.chmod("b/c", 0o300),
    disk.list("b/c"),
    disk.syncFolder("b/c"),
    disk.syncFile("b/c/file"),
    disk.chmodFolder("b/c", 0o700),
    disk.chmod("b/c", 0o700),
    disk.chmod("b/c/file", 0o200),
    disk.read("b/c/file"),
    disk.chmod("b/c/file", 0o400),
    fs.write("b/c/file", "x"),
    disk.writeNew("b/c/file", "x"),
    disk.chmod("/etc", 0o700),
    disk.removeTree("b"),
    fs.list(""),
  ],
}

describe("the file system twin does what a disk does", () => {
  for (const scenario of [onDisk, atOnce, links, everything]) {
    it.live(scenario.name, () =>
      Effect.gen(function* () {
        const { real, twin } = yield* makeFileMachines({ ordinary: false })
        yield* agree(scenario, twin, real)
      }).pipe(Effect.scoped),
    )
  }

  it.live(permissions.name, () =>
    Effect.gen(function* () {
      const { real, twin } = yield* makeFileMachines({ ordinary: true })
      yield* agree(permissions, twin, real)
    }).pipe(Effect.scoped),
  )

  it.live("a write changes the time of the content, a change of permissions does not", () =>
    Effect.gen(function* () {
      const long = new Date("2001-02-03T04:05:06Z")
      const { real, twin } = yield* makeFileMachines({ ordinary: false })
      for (const { fs, root } of [real, twin]) {
        const changed = (what: Effect.Effect<void, unknown>) =>
          Effect.gen(function* () {
            yield* fs.utimes(`${root}/file`, long, long)
            yield* what
            return Option.getOrThrow((yield* fs.stat(`${root}/file`)).mtime).getTime() !== long.getTime()
          })
        yield* fs.writeFileString(`${root}/file`, "x")
        assert.isTrue(yield* changed(fs.writeFileString(`${root}/file`, "y")))
        assert.isFalse(yield* changed(fs.chmod(`${root}/file`, 0o600)))
        assert.isFalse(
          yield* changed(
            fs
              .rename(`${root}/file`, `${root}/x`)
              .pipe(Effect.andThen(fs.rename(`${root}/x`, `${root}/file`))),
          ),
        )
      }
    }).pipe(Effect.scoped),
  )
})
