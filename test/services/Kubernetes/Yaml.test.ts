import { assert, describe, it } from "vitest"
import { parseYaml, yamlDocuments } from "../../../src/services/Kubernetes/Yaml.ts"

const secret = "canary-2b7c41"

describe("YAML that somebody else has written", () => {
  it("is read as what it is", () => {
    assert.deepStrictEqual(parseYaml("a: [1, {b: x}]\n"), { a: [1, { b: "x" }] })
    assert.isNull(parseYaml("# nothing\n"))
    assert.lengthOf(yamlDocuments("a: 1\n---\nb: 2\n"), 2)
  })

  it.each([
    ["a fault", `{"token":"${secret}","x":[""""]}`],
    ["a document that does not begin", `token: ${secret}\n]`],
    ["two documents where one is meant", `token: ${secret}\n---\na: 1\n`],
    ["an alias of nothing", `token: ${secret}\nx: *nothing\n`],
    ["a directive without a document", `%YAML 1.2\n# ${secret}\n--`],
  ])("is refused without a word of it: %s", (_, text) => {
    assert.throws(() => parseYaml(text), /^(?!.*canary)/)
  })

  // The parser of the library warns of them, and quotes what stands around them.
  it("makes no warning, for a warning quotes it", async () => {
    const told: Array<string> = []
    const listen = (warning: Error) => void told.push(warning.message)
    process.on("warning", listen)
    parseYaml(`token: !unknown ${secret}\n`)
    await new Promise((resolve) => setImmediate(resolve))
    process.off("warning", listen)
    assert.isEmpty(told)
  })

  it.each(["]", '"', "[", "{", "- ", "&a ", "%a\n"])(
    "is read no further than to the first fault: many %j",
    (part) => {
      try {
        parseYaml(part.repeat(100_000))
      } catch (error) {
        assert.match(String(error), /not YAML/)
      }
    },
  )
})
