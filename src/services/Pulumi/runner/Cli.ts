// The pulumi CLI, called past the Automation API where that would do more, or less carefully, than is wanted.
import { execFile } from "node:child_process"
import type { RunRequest } from "../Protocol.ts"

/** `--otel-traces`: each call that has it begins its file anew. */
export const optionVariable = "PULUMI_OPTION_OTEL_TRACES"

const untraced = (): NodeJS.ProcessEnv => {
  const { [optionVariable]: _, ...env } = process.env
  return env
}

/** Runs it in the project's folder, for its stack; gives what it printed. `input` goes to its stdin. */
export const pulumi = (
  request: Pick<RunRequest, "projectDirectory" | "stack">,
  args: ReadonlyArray<string>,
  input = "",
): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = execFile(
      "pulumi",
      [...args, "--non-interactive", "--stack", request.stack],
      { cwd: request.projectDirectory, env: untraced(), maxBuffer: Number.POSITIVE_INFINITY },
      (error, stdout, stderr) =>
        error === null ? resolve(stdout) : reject(new Error(`${args.join(" ")} failed: ${stderr.trim()}`)),
    )
    child.stdin?.on("error", () => {})
    child.stdin?.end(input)
  })
