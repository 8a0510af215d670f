// The real launcher on this machine's kernel (Linux 6.12 or later, for all of it): what a program in it can do, and what it cannot.
import { spawnSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Option, Stream } from "effect"
import { runChild, spawnChild } from "../../../src/services/Process/Child.ts"
import { confined, type Grants } from "../../../src/services/Process/Sandbox.ts"
import { machine } from "../../support/machine.ts"
import { programPath } from "../Pulumi/apiServer.ts"

const launcher = programPath("platform-sandbox") ?? "platform-sandbox is not built"

/** Enough for a shell and the programs of this machine. */
const shell = ["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/nowhere/at/all"]

/** A folder of its own and one of somebody else's, side by side. */
const folders = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const root = yield* fs.realPath(yield* fs.makeTempDirectoryScoped())
  const [own, other] = [`${root}/own`, `${root}/other`]
  mkdirSync(own)
  mkdirSync(other)
  mkdirSync(`${root}/library`)
  writeFileSync(`${other}/secret`, "planted-secret")
  symlinkSync(`${other}/secret`, `${own}/link`)
  return { root, own, other }
})

const started = ({ read = [], write = [] }: Partial<Grants>, script: string) => ({
  ...confined(launcher, { read: [...shell, ...read], write }, "/bin/sh", ["-c", script]),
  env: { PATH: "/usr/bin:/bin", GIVEN: "value" },
  grace: "5 seconds" as const,
})

layer(machine, { excludeTestServices: true })("a program in the sandbox", (it) => {
  it.effect("is the command itself: its process, its pipes, its environment, its exit code", () =>
    Effect.gen(function* () {
      const { own } = yield* folders
      const child = yield* spawnChild(
        Object.assign(
          started({ write: [own] }, 'echo "$$ $GIVEN"; read line; echo "$line" > "$PWD/heard"; exit 7'),
          {
            cwd: own,
            stdin: Stream.make("hello\n").pipe(Stream.encodeText),
          },
        ),
      )
      const said = yield* child.stdout.pipe(
        Stream.decodeText(),
        Stream.runFold(
          () => "",
          (a, b) => a + b,
        ),
      )
      assert.strictEqual(said, `${child.pid} value\n`)
      assert.strictEqual(Number(yield* child.exitCode), 7)
      assert.strictEqual(readFileSync(`${own}/heard`, "utf8"), "hello\n")
    }),
  )

  it.effect("reads what it may read, follows the links to it, and writes what it may write", () =>
    Effect.gen(function* () {
      const { own, other } = yield* folders
      const grants = { read: [`${own}/link`], write: [own] }
      const script = `cat ${own}/link ${other}/secret; mkdir ${own}/a && echo x > ${own}/a/b && mv ${own}/a/b ${own}/c && rmdir ${own}/a`
      const { stdout, stderr, exitCode } = yield* runChild(started(grants, script))
      assert.strictEqual(stderr, "")
      assert.strictEqual(stdout, "planted-secretplanted-secret")
      assert.deepStrictEqual(exitCode, Option.some(0))
      assert.deepStrictEqual(readdirSync(own).sort(), ["c", "link"])
    }),
  )

  // As words of a shell that is in a sandbox itself: the root of another process is closed to it, whoever its user is.
  const unopened: ReadonlyArray<readonly [why: string, word: (own: string) => string]> = [
    ["is not there", (own) => `${own}/nothing`],
    ["lies below a file", (own) => `${own}/file/below`],
    ["is a link to itself", (own) => `${own}/circle`],
    ["has too long a name", (own) => `${own}/${"x".repeat(300)}`],
    ["lies where it may not go", () => "/proc/$PPID/root/etc/passwd"],
  ]
  it.effect.each(unopened)("does without what it was to read when that %s", ([, word]) =>
    Effect.gen(function* () {
      const { own } = yield* folders
      writeFileSync(`${own}/file`, "")
      symlinkSync("circle", `${own}/circle`)
      const read = shell.map((path) => `--read ${path}`).join(" ")
      const result = yield* runChild(
        started({ read: [launcher] }, `${launcher} run ${read} --read ${word(own)} -- /bin/echo started`),
      )
      assert.deepStrictEqual(result, { exitCode: Option.some(0), stdout: "started\n", stderr: "" })
    }),
  )

  const denied: ReadonlyArray<readonly [what: string, script: (own: string, other: string) => string]> = [
    ["reads a file of others", (_, other) => `cat ${other}/secret`],
    ["reads it by a link", (own) => `cat ${own}/link`],
    ["lists a folder of others", (_, other) => `ls ${other}`],
    ["writes a file of others", (_, other) => `echo x > ${other}/secret`],
    ["cuts one off", (_, other) => `truncate -s 0 ${other}/secret`],
    ["makes one", (_, other) => `echo x > ${other}/new`],
    ["makes a folder", (_, other) => `mkdir ${other}/new`],
    ["removes one", (_, other) => `rm -f ${other}/secret`],
    ["moves one to itself", (own, other) => `mv ${other}/secret ${own}/secret`],
    ["makes a link for others to follow", (own) => `ln -s /etc ${own}/planted`],
    ["makes a pipe for others to wait at", (own) => `mkfifo ${own}/planted`],
    ["reads the environment of who started it", () => "cat /proc/$PPID/environ"],
    ["reads the command line of who started it", () => "cat /proc/$PPID/cmdline"],
    ["goes through another process's root", (_, other) => `cat /proc/$PPID/root${other}/secret`],
    ["lists the processes", () => "ls /proc"],
    ["has a child that reads a file of others", (_, other) => `sh -c 'sh -c "cat ${other}/secret"'`],
    ["writes where it may only read", (own) => `echo x > ${own}/../library/planted`],
  ]
  it.effect.each(denied)("is refused when it %s", ([, script]) =>
    Effect.gen(function* () {
      const { root, own, other } = yield* folders
      const { stdout, stderr, exitCode } = yield* runChild(
        started({ read: [`${root}/library`], write: [own] }, script(own, other)),
      )
      assert.match(stderr, /[Pp]ermission denied|Invalid cross-device link/)
      assert.strictEqual(stdout, "")
      assert.notDeepEqual(exitCode, Option.some(0))
      assert.strictEqual(readFileSync(`${other}/secret`, "utf8"), "planted-secret")
      assert.deepStrictEqual(readdirSync(other), ["secret"])
    }),
  )

  it.effect("sends no signal to others", () =>
    Effect.gen(function* () {
      const { stderr, exitCode } = yield* runChild(started({}, "kill -0 $PPID"))
      assert.match(stderr, /not permitted/)
      assert.notDeepEqual(exitCode, Option.some(0))
    }),
  )

  it.effect("does not leave its session, by which it is found and ended", () =>
    Effect.gen(function* () {
      // In the background, so that it is no leader of a group: one of those may not leave anyhow.
      const { stdout, stderr } = yield* runChild(started({}, "setsid sh -c 'echo left' & wait"))
      assert.strictEqual(stdout, "")
      assert.match(stderr, /setsid.*not permitted/)
    }),
  )

  it.effect("is not started when its rules cannot be made, or when nothing is said to be started", () =>
    Effect.gen(function* () {
      const { own } = yield* folders
      const lost = yield* runChild(started({ write: [`${own}/lost`] }, `echo started`))
      assert.deepStrictEqual(lost, {
        exitCode: Option.some(126),
        stdout: "",
        stderr: `platform-sandbox: ${own}/lost: no such file or directory\n`,
      })
      for (const args of [
        ["run", "--read", "/usr"],
        ["run", "--read"],
        ["run", "--all", "/", "--", "/bin/sh"],
        ["run", "--"],
      ]) {
        const { status, stdout } = spawnSync(launcher, args, { encoding: "utf8" })
        assert.deepStrictEqual({ status, stdout }, { status: 126, stdout: "" })
      }
      assert.strictEqual(spawnSync(launcher, []).status, 2)
    }),
  )

  it.effect("is what the probe has tried on itself", () =>
    Effect.sync(() => {
      const { status, stdout } = spawnSync(launcher, ["probe"], { encoding: "utf8" })
      assert.strictEqual(status, 0)
      assert.match(stdout, /^[1-9][0-9]*\n$/)
    }),
  )
})
