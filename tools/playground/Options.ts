// What the playground is told on its command line.
import path from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { Refusal } from "./Refusal.ts"

export interface Options {
  /** Of 127.0.0.1; 0: any that is free. */
  readonly port: number
  /** Seconds of the simulated world for one second here. */
  readonly speed: number
  /** Where its kubeconfig goes. */
  readonly folder: string
  readonly help: boolean
}

/** Below those that the local cluster of tools/cluster takes. */
export const DEFAULT_PORT = 16_400
const DEFAULT_FOLDER = fileURLToPath(new URL("../../.playground", import.meta.url))
const FASTEST = 3600

export const USAGE = `Usage: tools/playground/run [--port PORT] [--speed N] [--folder DIR]

A simulated cluster with the real operator in it, for kubectl on this machine.

  --port PORT   the port of 127.0.0.1 that its API listens on (default ${DEFAULT_PORT}; 0: any that is free)
  --speed N     so many simulated seconds pass in a second: 60 lets an hour pass in a minute
                (default 1; more than 0, at most ${FASTEST})
  --folder DIR  where kubeconfig, token, certificate and log go (default .playground in the checkout);
                a second playground needs another one, and another port
  --help        this text

The same through make: make run PORT=0 SPEED=60
Ctrl-C ends it and removes its kubeconfig, token, certificate and log.
`

/** In digits alone: `run` looks at it before Node is there. */
const number = (flag: string, text: string, isGood: (value: number) => boolean, wanted: string): number => {
  const value = /^(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : Number.NaN
  if (!isGood(value)) throw new Refusal(`--${flag}: ${JSON.stringify(text)} is not ${wanted}`)
  return value
}

/** Throws a `Refusal` that names the flag and its value. */
export const parseOptions = (args: ReadonlyArray<string>): Options => {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        port: { type: "string", default: String(DEFAULT_PORT) },
        speed: { type: "string", default: "1" },
        folder: { type: "string", default: DEFAULT_FOLDER },
        help: { type: "boolean", default: false },
      },
    })
    return {
      port: number(
        "port",
        values.port,
        (port) => Number.isInteger(port) && port >= 0 && port <= 65_535,
        "a port: a whole number up to 65535, such as 16400, or 0 for any that is free",
      ),
      speed: number(
        "speed",
        values.speed,
        (speed) => speed > 0 && speed <= FASTEST,
        `a speed: a number above 0 and at most ${FASTEST}, such as 60`,
      ),
      folder: path.resolve(values.folder),
      help: values.help,
    }
  } catch (error) {
    if (error instanceof Refusal) throw error
    const message = error instanceof Error ? error.message : String(error)
    throw new Refusal(`${message}\n\n${USAGE}`)
  }
}
