// Looks at the version of Node before anything else is read: older ones do not understand the sources.
const [major = 0] = process.versions.node.split(".").map(Number)
if (major < 24) {
  process.stderr.write(
    `playground: this is Node ${process.versions.node}, and it needs Node 24 or later. make run fetches one for this checkout and runs it\n`,
  )
  process.exit(1)
}
await import("./main.ts")
