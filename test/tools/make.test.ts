// The front door: what make leaves, what it tells of an interruption, and what is looked at before anything is installed.
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "@effect/vitest"
import { parseOptions } from "../../tools/playground/Options.ts"

let place = ""
const at = (...names: ReadonlyArray<string>) => path.join(place, ...names)
const write = (name: string, text: string) => {
  mkdirSync(path.dirname(at(name)), { recursive: true })
  writeFileSync(at(name), text, { mode: 0o755 })
}

beforeEach(() => {
  place = mkdtempSync(path.join(tmpdir(), "make-"))
  cpSync("Makefile", at("Makefile"))
})
afterEach(() => rmSync(place, { recursive: true, force: true }))

describe("make", () => {
  it("clean removes what was installed and built here, npm's cache of a machine without a home too", () => {
    write("tools/all-clusters", '#!/bin/sh\necho "$*" > all-clusters.said\n')
    const made = ["node_modules/a", "dist/a", ".cache/npm/a", ".npm-install.lock", "headlamp-plugin/dist/a"]
    for (const each of made) write(each, "")
    write("src/a", "")
    execFileSync("make", ["clean"], { cwd: place })
    for (const each of made) assert.isFalse(existsSync(at(each)), each)
    assert.isFalse(existsSync(at(".cache")))
    assert.isTrue(existsSync(at("src/a")))
    assert.strictEqual(readFileSync(at("all-clusters.said"), "utf8"), "down --purge\n")
  })

  it("that is interrupted ends by the signal, and tells of no error", async () => {
    write(
      "tools/install-node",
      "#!/bin/bash\ntrap 'exit 130' INT\necho waits\nwhile [ -d tools ]; do sleep 0.05; done\n",
    )
    cpSync("tools/interrupted", at("tools/interrupted"))
    const child = spawn("make", ["install"], { cwd: place, detached: true })
    let said = ""
    child.stderr.on("data", (chunk) => {
      said += chunk
    })
    const ended = new Promise((resolve) => child.once("close", (code, signal) => resolve(signal ?? code)))
    await new Promise((resolve) => child.stdout.once("data", resolve))
    process.kill(-(child.pid ?? assert.fail("it has not begun")), "SIGINT")
    assert.deepStrictEqual([await ended, said], ["SIGINT", ""])
  })

  it("that fails says so", () => {
    write("tools/install-node", "#!/bin/sh\nexit 7\n")
    cpSync("tools/interrupted", at("tools/interrupted"))
    const { status, stderr } = spawnSync("make", ["install"], { cwd: place, encoding: "utf8" })
    assert.strictEqual(status, 2)
    assert.include(stderr, "Error 7")
  })

  it.each(["PORT=16443", "SPEED=60"])("run CLUSTER=local refuses %s before it installs anything", (given) => {
    write("tools/install-node", "#!/bin/sh\ntouch installed\n")
    const { status, stderr } = spawnSync("make", ["run", "CLUSTER=local", given], {
      cwd: place,
      encoding: "utf8",
    })
    assert.strictEqual(status, 2)
    assert.include(stderr, "leave them away with CLUSTER=local")
    assert.isFalse(existsSync(at("installed")))
  })

  it("help says of test what the README says", () => {
    const help = execFileSync("make", ["help"], { cwd: place, encoding: "utf8" })
    const words = /^ +make test +(.*?); PART=/m.exec(help)?.[1] ?? assert.fail("no test in make help")
    assert.match(readFileSync("README.md", "utf8"), new RegExp(`^make test +# ${words}$`, "m"))
  })
})

describe("the playground's entry", () => {
  beforeEach(() => {
    cpSync("tools/playground/run", at("tools/playground/run"))
    write("tools/install-node", "#!/bin/sh\necho installing\nexit 9\n")
  })
  const run = (args: ReadonlyArray<string>) => {
    const { status, stdout, stderr } = spawnSync(at("tools/playground/run"), args, { encoding: "utf8" })
    return { status, installs: stdout.includes("installing"), said: stderr }
  }
  const refusal = (args: ReadonlyArray<string>) => {
    try {
      parseOptions(args)
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }

  it.each(
    [
      ...["abc", "", "-1", "7.5", "70000", "65536", "0x10", "1e3", " 1"].map((port) => [`--port=${port}`]),
      ...["abc", "", "-1", "0", "0.0", "1e3", "3601", "."].map((speed) => [`--speed=${speed}`]),
      ["--port", "abc"],
      ["--speed", "60", "--port", "http"],
    ].map((args) => ({ args })),
  )("refuses $args before it installs, in the words of the playground", ({ args }) => {
    const words = refusal(args) ?? assert.fail("the playground takes it")
    assert.deepStrictEqual(run(args), { status: 1, installs: false, said: `playground: ${words}\n` })
  })

  it.each(
    [
      ...["0", "16400", "65535", "08000"].map((port) => ["--port", port]),
      ...["1", "0.5", ".5", "60", "3600"].map((speed) => [`--speed=${speed}`]),
      ["--help"],
      [],
    ].map((args) => ({ args })),
  )("installs for $args", ({ args }) => {
    assert.isUndefined(refusal(args))
    assert.deepStrictEqual(run(args), { status: 9, installs: true, said: "" })
  })
})
