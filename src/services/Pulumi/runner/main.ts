// The runner: one process, one run of the program, leader of a Unix session of its own. The operator starts it
// and talks to it in the lines of `Protocol.ts`. This process is a world of promises and real time on purpose:
// it hosts the Automation API and dies with every operation.
//
//   node main.ts operation              serves one run
//   node main.ts approved-host-builds <directory with node_modules>
import { hostBuilds } from "./HostBuilds.ts"
import { operation } from "./Operation.ts"

// Whatever the engine writes is for this user alone; its file backend would write 0644 otherwise.
process.umask(0o077)
// The protocol writes to the descriptor itself. Whoever prints, prints to stderr.
Object.defineProperty(process, "stdout", { value: process.stderr })

switch (process.argv[2]) {
  case "operation":
    await operation()
    break
  case "approved-host-builds":
    hostBuilds(process.argv[3] ?? "")
    break
  default:
    process.stderr.write("the runner is started by the operator: operation | approved-host-builds\n")
    process.exit(2)
}
