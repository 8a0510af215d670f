// sbom.ts PROGRAMS DPKG_STATUS: what the operator's image is made of, as CycloneDX JSON on stdout.
//
//   PROGRAMS     the folder with helm, pulumi, pulumi-resource-kubernetes and platform-sandbox, as tools/programs/build.sh gives it
//   DPKG_STATUS  /var/lib/dpkg/status of the base image
//
// The same inputs give the same text: no time, no random serial number.
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Schema } from "effect"

const Component = Schema.Struct({
  type: Schema.String,
  name: Schema.String,
  version: Schema.String,
  purl: Schema.String,
  hashes: Schema.optionalKey(Schema.Array(Schema.Struct({ alg: Schema.String, content: Schema.String }))),
  properties: Schema.optionalKey(Schema.Array(Schema.Struct({ name: Schema.String, value: Schema.String }))),
  licenses: Schema.optionalKey(Schema.Array(Schema.Json)),
})
type Component = typeof Component.Type

const Npm = Schema.fromJsonString(Schema.Struct({ components: Schema.Array(Component) }))

/** What the bundles are made of: the production dependencies of the lock file. */
const npmComponents = (): ReadonlyArray<Component> =>
  Schema.decodeSync(Npm)(
    execFileSync(
      "node_modules/.bin/npm",
      ["sbom", "--omit=dev", "--sbom-format=cyclonedx", "--package-lock-only"],
      { encoding: "utf8", maxBuffer: 64 * 1024 * 1024, stdio: ["ignore", "pipe", "ignore"] },
    ),
  ).components

/** A Go program's own and its modules, as the linker wrote them into it. */
const goComponents = (program: string): ReadonlyArray<Component> => {
  const said = execFileSync("go", ["version", "-m", program], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  })
  const [, toolchain = ""] = /: go(\S+)/.exec(said) ?? []
  const modules = [...said.matchAll(/^\t(?:dep|=>)\t(\S+)\t(\S+)\t(h1:\S+)/gm)].map(
    ([, name = "", version = "", sum = ""]): Component => ({
      type: "library",
      name,
      version,
      purl: `pkg:golang/${name}@${version}`,
      // Of the module's files, as in a go.sum: no hash of one file that CycloneDX has a name for.
      properties: [{ name: "golang:h1", value: sum }],
    }),
  )
  const go: Component = {
    type: "library",
    name: "std",
    version: toolchain,
    purl: `pkg:golang/std@${toolchain}`,
  }
  return [go, ...modules]
}

/** The packages of a Debian base image. */
const debianComponents = (status: string): ReadonlyArray<Component> =>
  status.split("\n\n").flatMap((paragraph): ReadonlyArray<Component> => {
    const field = (name: string) => new RegExp(`^${name}: (.+)$`, "m").exec(paragraph)?.[1]
    const name = field("Package")
    const version = field("Version")
    if (name === undefined || version === undefined || !/ installed$/.test(field("Status") ?? "")) return []
    return [
      {
        type: "library",
        name,
        version,
        purl: `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${field("Architecture") ?? "all"}`,
      },
    ]
  })

const nodeComponents = (): ReadonlyArray<Component> => {
  const npm = JSON.parse(readFileSync("node_modules/npm/package.json", "utf8"))
  const version = process.version.slice(1)
  return [
    { type: "application", name: "node", version, purl: `pkg:generic/node@${version}` },
    {
      type: "application",
      name: "npm",
      version: String(npm.version),
      purl: `pkg:npm/npm@${String(npm.version)}`,
    },
  ]
}

const [programs, status] = process.argv.slice(2)
if (programs === undefined || status === undefined) throw new Error("usage: sbom.ts PROGRAMS DPKG_STATUS")

const found = [
  ...nodeComponents(),
  ...npmComponents(),
  ...["helm", "pulumi", "pulumi-resource-kubernetes", "platform-sandbox"].flatMap((name) =>
    goComponents(join(programs, name)),
  ),
  ...debianComponents(readFileSync(status, "utf8")),
]
const components = [...new Map(found.map((component) => [component.purl, component])).values()]
  .map((component) => ({ "bom-ref": component.purl, ...component }))
  .sort((a, b) => (a.purl < b.purl ? -1 : 1))
const { operatorVersion } = JSON.parse(readFileSync("release.json", "utf8"))
console.log(
  JSON.stringify(
    {
      bomFormat: "CycloneDX",
      specVersion: "1.5",
      version: 1,
      metadata: {
        component: {
          type: "container",
          "bom-ref": "platform-operator",
          name: "platform-operator",
          version: operatorVersion,
        },
      },
      components,
    },
    null,
    1,
  ),
)
