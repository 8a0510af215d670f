// A program that ends: what it printed, or why it failed.
import { spawn } from "node:child_process"

export const run = (program: string, args: ReadonlyArray<string>, input = ""): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args)
    let [out, err] = ["", ""]
    child.stdout.on("data", (chunk) => {
      out += chunk
    })
    child.stderr.on("data", (chunk) => {
      err += chunk
    })
    child.on("error", reject)
    child.on("close", (code) =>
      code === 0 ? resolve(out) : reject(new Error(`${program} ${args.join(" ")}: ${err}`)),
    )
    child.stdin.end(input)
  })
