// Random sequences of operations on a real folder and on the twin: every answer and the tree at the end are the same.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Prng } from "../twins/simulation/Prng.ts"
import { replayCommand, seeds } from "../twins/simulation/seeds.ts"
import { type FileMachine, makeFileMachines, observed } from "./fileMachines.ts"

const steps = 200

interface Operation {
  readonly name: string
  readonly run: (machine: FileMachine) => Effect.Effect<unknown, unknown>
}

/** Few names, so that operations meet; some of them lie below others, or below files and links. */
const names = ["a", "b", "c"]
const modes = [0o000, 0o200, 0o400, 0o500, 0o600, 0o700, 0o755]

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (content: Uint8Array) => new TextDecoder().decode(content)

class Dice {
  private readonly prng: Prng

  constructor(seed: number) {
    this.prng = new Prng(seed)
  }

  of<A>(values: readonly [A, ...Array<A>] | ReadonlyArray<A>): A {
    const value = values[this.prng.below(values.length)]
    if (value === undefined) throw new Error("nothing to choose from")
    return value
  }

  below(limit: number): number {
    return this.prng.below(limit)
  }

  path(): string {
    return Array.from({ length: 1 + this.below(3) }, () => this.of(names)).join("/")
  }
}

const diskOperation = (dice: Dice): Operation => {
  const one = dice.path()
  const two = dice.path()
  const mode = dice.of(modes)
  const content = "x".repeat(dice.below(40))
  const at = (machine: FileMachine, name: string) => `${machine.root}/${name}`
  return dice.of<Operation>([
    { name: `mkdir ${one} ${mode.toString(8)}`, run: (m) => m.disk.mkdir(at(m, one), mode) },
    {
      name: `writeNew ${one} ${mode.toString(8)}`,
      run: (m) => m.disk.writeNew(at(m, one), bytes(content), mode),
    },
    { name: `readFile ${one}`, run: (m) => Effect.map(m.disk.readFile(at(m, one)), text) },
    { name: `rename ${one} ${two}`, run: (m) => m.disk.rename(at(m, one), at(m, two)) },
    { name: `unlink ${one}`, run: (m) => m.disk.unlink(at(m, one)) },
    { name: `rmdir ${one}`, run: (m) => m.disk.rmdir(at(m, one)) },
    { name: `chmod ${one} ${mode.toString(8)}`, run: (m) => m.disk.chmod(at(m, one), mode) },
    { name: `chmodFolder ${one} ${mode.toString(8)}`, run: (m) => m.disk.chmodFolder(at(m, one), mode) },
    { name: `readlink ${one}`, run: (m) => m.disk.readlink(at(m, one)) },
    { name: `realpath ${one}`, run: (m) => m.disk.realpath(at(m, one)) },
    { name: `syncFolder ${one}`, run: (m) => m.disk.syncFolder(at(m, one)) },
    {
      name: `lstat ${one}`,
      run: (m) => Effect.map(m.disk.lstat(at(m, one)), ({ kind, mode }) => ({ kind, mode })),
    },
  ])
}

const fileSystemOperation = (dice: Dice, ordinary: boolean): Operation => {
  const one = dice.path()
  const two = dice.path()
  const content = "y".repeat(dice.below(40))
  const flag = dice.of(["w", "wx", "a"] as const)
  const absolute = dice.below(2) === 0
  const at = (machine: FileMachine, name: string) => `${machine.root}/${name}`
  return dice.of<Operation>([
    {
      name: `writeFile ${one} ${flag}`,
      run: (m) => m.fs.writeFileString(at(m, one), content, { flag }),
    },
    { name: `readFileString ${one}`, run: (m) => m.fs.readFileString(at(m, one)) },
    // `access` asks for the real user of the process, who may be root.
    ...(ordinary ? [] : [{ name: `exists ${one}`, run: (m: FileMachine) => m.fs.exists(at(m, one)) }]),
    // Below a link that leads nowhere node has reasons of its own: only whether it succeeds is compared.
    {
      name: `mkdir -p ${one}`,
      run: (m) =>
        m.fs.makeDirectory(at(m, one), { recursive: true }).pipe(
          Effect.as("made"),
          Effect.orElseSucceed(() => "refused"),
        ),
    },
    {
      name: `symlink ${two} ${absolute ? "absolute" : ""} at ${one}`,
      run: (m) => m.fs.symlink(absolute ? at(m, two) : two, at(m, one)),
    },
    { name: `link ${one} ${two}`, run: (m) => m.fs.link(at(m, one), at(m, two)) },
    { name: `truncate ${one}`, run: (m) => m.fs.truncate(at(m, one), 3) },
    { name: `rename ${one} ${two}`, run: (m) => m.fs.rename(at(m, one), at(m, two)) },
    {
      name: `readDirectory ${one}`,
      run: (m) => Effect.map(m.fs.readDirectory(at(m, one)), (found) => found.sort()),
    },
    {
      name: `stat ${one}`,
      run: (m) => Effect.map(m.fs.stat(at(m, one)), ({ mode, type }) => ({ mode, type })),
    },
    { name: `remove ${one}`, run: (m) => m.fs.remove(at(m, one)) },
    { name: `remove -f ${one}`, run: (m) => m.fs.remove(at(m, one), { force: true }) },
  ])
}

/** Everything below a folder, links not followed; what cannot be read says so. */
const treeOf = (machine: FileMachine, folder: string): Effect.Effect<ReadonlyArray<unknown>> =>
  Effect.gen(function* () {
    const entries = yield* machine.disk.readdir(folder).pipe(Effect.orElseSucceed(() => []))
    const lines: Array<unknown> = []
    for (const { kind, name } of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = `${folder}/${name}`
      lines.push({
        path,
        kind,
        mode: yield* observed(Effect.map(machine.disk.lstat(path), ({ mode }) => mode)),
      })
      if (kind === "file") lines.push(yield* observed(Effect.map(machine.disk.readFile(path), text)))
      if (kind === "link") lines.push(yield* observed(machine.disk.readlink(path)))
      if (kind === "directory") lines.push(...(yield* treeOf(machine, path)))
    }
    return lines
  })

const run = (seed: number, ordinary: boolean) =>
  Effect.gen(function* () {
    const { real, twin } = yield* makeFileMachines({ ordinary })
    const dice = new Dice(seed)
    const done: Array<string> = []
    for (let index = 0; index < steps; index++) {
      const operation = dice.below(2) === 0 ? diskOperation(dice) : fileSystemOperation(dice, ordinary)
      done.push(operation.name)
      const expected = yield* observed(operation.run(real))
      const found = yield* observed(operation.run(twin))
      assert.deepStrictEqual(
        found,
        expected,
        `seed ${seed}, step ${index} (${replayCommand(seed)}); the last steps:\n${done.slice(-15).join("\n")}`,
      )
    }
    assert.deepStrictEqual(
      yield* treeOf(twin, twin.root),
      yield* treeOf(real, real.root),
      `seed ${seed}, the tree at the end (${replayCommand(seed)})`,
    )
  }).pipe(Effect.scoped)

describe("random operations on the twin and on a disk", () => {
  for (const seed of seeds(8)) {
    it.live(`end the same, seed ${seed}`, () => run(seed, false))
    it.live(`end the same for a user whom permissions bind, seed ${seed}`, () => run(seed, true))
  }
})
