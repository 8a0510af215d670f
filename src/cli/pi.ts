// The whole command, as the program and its tests run it.
import { Command } from "effect/cli"
import { backup } from "./backup.ts"
import { events } from "./events.ts"
import { history } from "./history.ts"
import { kubeconfig } from "./kubeconfig.ts"
import { logs } from "./logs.ts"
import { plan } from "./plan.ts"
import { restore } from "./restore.ts"
import { retry } from "./retry.ts"
import { root } from "./root.ts"
import { rotatePassphrase } from "./rotatePassphrase.ts"
import { status } from "./status.ts"
import { trace } from "./trace.ts"

export const commands = [
  status,
  history,
  plan,
  events,
  logs,
  retry,
  kubeconfig,
  trace,
  backup,
  restore,
  rotatePassphrase,
] as const

export const pi = root.pipe(Command.withSubcommands(commands))
