// tools/install-node with an npm that does as it is told: what it says, what it leaves, and who holds its lock.
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "@effect/vitest"
import { hear } from "./heard.ts"

let place = ""
const checkout = () => path.join(place, "checkout")
const running: Array<ChildProcess> = []

beforeEach(() => {
  place = mkdtempSync(path.join(tmpdir(), "install-node-"))
  for (const folder of ["checkout/tools", "bin", "tmp", "home"])
    mkdirSync(path.join(place, folder), { recursive: true })
  for (const file of ["install-node", "quietly.sh"])
    cpSync(`tools/${file}`, path.join(checkout(), "tools", file))
  for (const file of ["package.json", "package-lock.json", ".npmrc"])
    writeFileSync(path.join(checkout(), file), "{}")
})
afterEach(async () => {
  for (const child of running.splice(0)) if (child.exitCode === null) child.kill("SIGKILL")
  // What an npm of the test still waits for.
  writeFileSync(path.join(place, "go"), "")
  rmSync(place, { recursive: true, force: true })
})

/** `then`: what npm does in a checkout, in shell; `$place` is the folder of the test. */
const install = (then: string) => {
  const npm = `#!/bin/sh\nplace=${place}\n[ "$1" = --version ] && { echo 11.0.0; exit; }\necho $$ > $place/pid\n${then}\n`
  writeFileSync(path.join(place, "bin/npm"), npm, { mode: 0o755 })
  const child = spawn(path.join(checkout(), "tools/install-node"), {
    env: { PATH: `${place}/bin:${process.env.PATH}`, HOME: `${place}/home`, TMPDIR: `${place}/tmp` },
    stdio: ["ignore", "ignore", "pipe"],
  })
  running.push(child)
  return { child, ...hear(child) }
}

/** Of the stand-in for npm, once it runs. */
const pidOfNpm = async () => {
  const file = path.join(place, "pid")
  await until(() => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"))
  return Number(readFileSync(file, "utf8"))
}

const until = async (what: () => boolean) => {
  while (!what()) await new Promise((resolve) => setImmediate(resolve))
}

const isAlive = (pid: number) => spawnSync("kill", ["-0", String(pid)]).status === 0
const isLockFree = () =>
  spawnSync("flock", ["-n", path.join(checkout(), ".npm-install.lock"), "true"]).status === 0
const untilGo = "while [ ! -e $place/go ] && [ -d $place ]; do sleep 0.05; done"
const left = () => readdirSync(path.join(place, "tmp"))

describe("install-node", () => {
  it("installs once for the same lock file, and leaves nothing but that", async () => {
    const works = `mkdir -p node_modules/.bin; ln -sf ${process.execPath} node_modules/.bin/node`
    const first = install(works)
    assert.strictEqual(await first.ended, 0, first.said())
    assert.include(first.said(), "installed node v")
    const second = install("exit 1")
    assert.deepStrictEqual([await second.ended, second.said()], [0, ""])
    assert.deepStrictEqual(left(), [])
  })

  it("says while it waits that the registry does not answer, and in the end what to do", async () => {
    const npm = install(
      `echo 'npm http fetch GET https://registry.example/effect attempt 1 failed with EAI_AGAIN' >&2\n${untilGo}\necho 'npm error code EAI_AGAIN' >&2\nexit 1`,
    )
    await npm.says("npm: registry.example does not answer (EAI_AGAIN); npm tries again")
    writeFileSync(path.join(place, "go"), "")
    assert.strictEqual(await npm.ended, 1)
    assert.notInclude(npm.said(), "npm error")
    assert.notInclude(npm.said(), "npm http fetch")
    assert.include(npm.said(), "cannot be reached (EAI_AGAIN)")
    assert.include(npm.said(), "This first install alone needs the network")
    assert.deepStrictEqual(left(), [])
  })

  it("ends an npm of which nothing but failures has come for a minute", async () => {
    // Seconds that are none: the script's own wait.
    writeFileSync(path.join(place, "bin/sleep"), "#!/bin/sh\nexec /bin/sleep 0.001\n", { mode: 0o755 })
    const npm = install(
      "while :; do echo 'npm http fetch GET https://registry.example/effect attempt 1 failed with EAI_AGAIN' >&2; /bin/sleep 0.05; done",
    )
    assert.strictEqual(await npm.ended, 1)
    assert.include(npm.said(), "cannot be reached (EAI_AGAIN)")
    assert.isFalse(isAlive(await pidOfNpm()))
    assert.deepStrictEqual(left(), [])
  })

  it("says what npm said when that fails for another reason", async () => {
    const npm = install("echo 'npm error no room' >&2; exit 7")
    assert.strictEqual(await npm.ended, 1)
    assert.match(npm.said(), /npm error no room\nnpm: npm ci failed\n$/)
  })

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)(
    "ended by %s ends npm before it lets go of the lock, and leaves no log",
    async (signal, code) => {
      const { child, ended } = install(`trap 'touch $place/ending; exit 1' TERM\n${untilGo}`)
      const npm = await pidOfNpm()
      assert.isFalse(isLockFree())
      assert.lengthOf(left(), 1)
      child.kill(signal)
      assert.strictEqual(await ended, code)
      assert.isTrue(existsSync(path.join(place, "ending")))
      assert.isFalse(isAlive(npm))
      assert.isTrue(isLockFree())
      assert.deepStrictEqual(left(), [])
    },
  )

  it("told to end, ends an npm that does not listen, and all that this has begun", async () => {
    const { child, ended, said } = install(`trap '' INT TERM HUP\nsh -c '${untilGo}' &\n${untilGo}`)
    const npm = await pidOfNpm()
    child.kill("SIGINT")
    assert.strictEqual(await ended, 130)
    assert.include(said(), "npm: interrupted: ending what it had begun, in 3 seconds at most")
    assert.notInclude(said(), "Killed")
    assert.isFalse(isAlive(npm))
    assert.isTrue(isLockFree())
    assert.deepStrictEqual(left(), [])
  })

  it("told to end the moment npm begins, ends it", async () => {
    // The earliest that a signal can come with something to end: its number may not be known yet.
    const { ended, said } = install(`trap '' INT TERM HUP\nkill -INT $PPID\n${untilGo}`)
    assert.strictEqual(await ended, 130)
    assert.include(said(), "npm: interrupted")
    assert.isFalse(isAlive(await pidOfNpm()))
    assert.isTrue(isLockFree())
    assert.deepStrictEqual(left(), [])
  })

  it("told twice, waits for nothing", async () => {
    const file = path.join(checkout(), "tools/quietly.sh")
    const patient = readFileSync(file, "utf8").replace("quiet_patience=30", "quiet_patience=360000")
    assert.include(patient, "quiet_patience=360000")
    writeFileSync(file, patient)
    const { child, ended, says } = install(`trap '' INT TERM HUP\n${untilGo}`)
    const npm = await pidOfNpm()
    child.kill("SIGINT")
    await says("interrupted")
    child.kill("SIGINT")
    assert.strictEqual(await ended, 130)
    assert.isFalse(isAlive(npm))
  })

  it("told to end, leaves nothing that passes for installed", async () => {
    const works = `mkdir -p node_modules/.bin; ln -sf ${process.execPath} node_modules/.bin/node`
    assert.strictEqual(await install(works).ended, 0)
    const lock = path.join(checkout(), "package-lock.json")
    writeFileSync(lock, '{"other":1}')
    rmSync(path.join(place, "pid"))
    const { child, ended } = install(untilGo)
    await pidOfNpm()
    child.kill("SIGINT")
    assert.strictEqual(await ended, 130)
    writeFileSync(lock, "{}")
    const again = install(works)
    assert.strictEqual(await again.ended, 0)
    assert.include(again.said(), "installed node v")
  })

  it("told to end while another run installs, ends the wait alone and says so", async () => {
    const first = install(untilGo)
    await pidOfNpm()
    const { child, ended, says, said } = install(untilGo)
    await says("waiting for it")
    child.kill("SIGINT")
    assert.strictEqual(await ended, 130)
    assert.include(said(), "interrupted: the other run goes on")
    assert.isFalse(isLockFree())
    writeFileSync(path.join(place, "go"), "")
    await first.ended
  })

  it("killed alone leaves the lock to the npm that goes on without it", async () => {
    const { child } = install(untilGo)
    const npm = await pidOfNpm()
    const gone = new Promise((resolve) => child.once("exit", resolve))
    child.kill("SIGKILL")
    await gone
    assert.isTrue(isAlive(npm))
    assert.isFalse(isLockFree())
    writeFileSync(path.join(place, "go"), "")
    await until(isLockFree)
  })
})
