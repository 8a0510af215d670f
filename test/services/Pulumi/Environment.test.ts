// What children may see, and the one setting that nobody makes.
import { readdirSync, readFileSync, statSync } from "node:fs"
import path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { childEnvironment } from "../../../src/services/Process/Environment.ts"
import { baseEnvironment, engineEnvironment } from "../../../src/services/Pulumi/Environment.ts"
import { repository } from "./harness.ts"

/** With it the provider forgets whatever does not answer: the way to lose a platform whose vCluster restarts. */
const unreachable = "PULUMI_K8S_DELETE_UNREACHABLE"

const planted = {
  PATH: "/usr/bin",
  HTTPS_PROXY: "http://proxy:3128",
  [unreachable]: "true",
  PULUMI_CONFIG_PASSPHRASE: "planted-passphrase",
  PULUMI_ACCESS_TOKEN: "planted-token",
  NODE_OPTIONS: "--require=/planted.js",
}

const engine = engineEnvironment({
  from: planted,
  home: "/home",
  pulumiHome: "/home/pulumi",
  pulumiDirectory: "/opt",
  backendUrl: "file:///state",
  passphraseFile: "/passphrase",
  incarnation: "first",
})

describe("the environment of children", () => {
  it.each([
    ["engine and provider", engine],
    ["npm, helm and the reading of a package", baseEnvironment(planted, "/home")],
    ["helm of the host", childEnvironment(planted, { HOME: "/home" })],
  ])("is a list of what may pass, whatever the operator's own holds: %s", (_, environment) => {
    assert.strictEqual(environment.HTTPS_PROXY, "http://proxy:3128")
    assert.notInclude(JSON.stringify(environment), "planted")
    assert.notProperty(environment, unreachable)
    assert.notProperty(environment, "NODE_OPTIONS")
  })
})

/** Every file below, what is installed or generated for others left out. */
const filesBelow = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder).flatMap((name) => {
    if (["node_modules", "dist", ".git"].includes(name)) return []
    const file = path.join(folder, name)
    return statSync(file).isDirectory() ? filesBelow(file) : [file]
  })

it(`${unreachable} is set nowhere: no source, chart, image or manifest has more than the advice against it`, () => {
  const folders = ["src", "charts", "crd", "examples"].map((name) => path.join(repository, name))
  const files = [...folders.flatMap(filesBelow), path.join(repository, "Dockerfile")]
  assert.isAbove(files.length, 200)
  const naming = files.filter((file) => readFileSync(file, "utf8").includes(unreachable))
  // It takes the CLI's advice to set it out of what people are told.
  assert.deepStrictEqual(
    naming.map((file) => path.relative(repository, file)),
    ["src/services/Pulumi/Messages.ts"],
  )
})
