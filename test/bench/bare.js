// What somebody would write who installs the same program with the Automation API and nothing else: one stack, its
// config, [refresh], up. Usage: bare.js install|repair PROJECT_DIRECTORY, where config.json says what is to be set.
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"

const [, , operation, directory] = process.argv
const project = createRequire(join(directory, "index.js"))
const platform = createRequire(project.resolve("@di-framework/platform/package.json"))
const { LocalWorkspace } = platform("@pulumi/pulumi/automation/index.js")

process.umask(0o077)
const stack = await LocalWorkspace.createOrSelectStack(
  { stackName: "instance", projectName: "platform-instance", program: () => project("./index.js")() },
  { workDir: directory },
)
if (operation === "install") {
  await stack.setAllConfig(JSON.parse(readFileSync(join(directory, "config.json"), "utf8")))
} else {
  await stack.refresh()
}
const { summary } = await stack.up()
process.stdout.write(`${JSON.stringify(summary.resourceChanges)}\n`)
// What the program's libraries still hold open is nobody's concern: the runner ends so, too.
process.exit(0)
