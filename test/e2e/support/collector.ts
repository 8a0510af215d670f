// Takes spans over OTLP/HTTP in JSON and appends each request to a file, a line each: `collector.ts HOST:PORT FILE`.
// Ends when its stdin does.
import { appendFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"

const [address = "", file = ""] = process.argv.slice(2)
const { hostname, port } = new URL(`http://${address}`)

writeFileSync(file, "")
process.stdin.resume().on("end", () => process.exit(0))
createServer((request, response) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    if (request.url === "/v1/traces") appendFileSync(file, `${Buffer.concat(chunks).toString("utf8")}\n`)
    response.setHeader("content-type", "application/json")
    response.end("{}")
  })
}).listen(Number(port), hostname)
