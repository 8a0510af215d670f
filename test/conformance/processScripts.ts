// Shell scripts, and for each a program of the simulation that does the same.
import { Effect, Fiber } from "effect"
import type { Program } from "../twins/processes/Program.ts"

/** What the shell does for real, and a program that does the same. Signals come after `ready` was printed. */
export const scripts = {
  echo: {
    shell: "cat; echo oops >&2; exit 3",
    program: ({ readStdin, stderr, stdout }) =>
      Effect.map(readStdin, (input) => {
        stdout(input)
        stderr("oops\n")
        return 3
      }),
  },
  environment: {
    shell: 'echo "$MINE"; pwd',
    program: ({ cwd, env, stdout }) =>
      Effect.sync(() => {
        stdout(`${env.MINE}\n${cwd}\n`)
        return 0
      }),
  },
  unread: { shell: "exit 4", program: () => Effect.succeed(4) },
  waits: {
    shell: "echo ready; exec sleep 1000",
    program: ({ stdout }) =>
      Effect.andThen(
        Effect.sync(() => stdout("ready\n")),
        Effect.never,
      ),
  },
  handles: {
    shell: "trap 'echo asked; exit 7' TERM; echo ready; while :; do sleep 0.05; done",
    program: ({ signalled, stdout }) =>
      Effect.gen(function* () {
        const asked = yield* Effect.forkChild(signalled, { startImmediately: true })
        stdout("ready\n")
        yield* Fiber.join(asked)
        stdout("asked\n")
        return 7
      }),
  },
  ignores: {
    shell: "trap '' TERM; echo ready; while :; do sleep 0.05; done",
    program: ({ ignoreSignals, stdout }) =>
      Effect.suspend(() => {
        ignoreSignals()
        stdout("ready\n")
        return Effect.never
      }),
  },
  orphans: {
    // The grandchild is in a group of its own, and holds none of its parent's pipes.
    shell: "set -m; sleep 1000 >/dev/null 2>&1 </dev/null & echo ready; exec sleep 1000",
    program: ({ fork, stdout }) =>
      Effect.suspend(() => {
        fork("sleep", () => Effect.never, { ownGroup: true })
        stdout("ready\n")
        return Effect.never
      }),
  },
  fails: {
    shell: "sleep 1000 >/dev/null 2>&1 </dev/null & echo ready; exit 1",
    program: ({ fork, stdout }) =>
      Effect.sync(() => {
        fork("sleep", () => Effect.never)
        stdout("ready\n")
        return 1
      }),
  },
  leaves: {
    shell: "sleep 1000 & echo ready; exit 0",
    program: ({ fork, stdout }) =>
      Effect.sync(() => {
        fork("sleep", () => Effect.never, { inheritOutput: true })
        stdout("ready\n")
        return 0
      }),
  },
} satisfies Record<string, { readonly shell: string; readonly program: Program }>

export type Script = keyof typeof scripts

/** `/bin/sh -c <script>` in the simulation. */
export const shell: Program = (context) => {
  const script = Object.values(scripts).find((it) => it.shell === context.argv[2])
  return script === undefined
    ? Effect.die(new Error(`no such script: ${context.argv[2]}`))
    : script.program(context)
}
