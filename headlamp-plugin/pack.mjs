// Packs what `headlamp-plugin build` has made, as pluginctl wants it: one folder with main.js and package.json. The same
// bytes each time. Prints the archive and its sha256; with a second folder it also writes Artifact Hub's description.
//
//   node pack.mjs OUT [METADATA]
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { stringify } from "yaml"

const here = import.meta.dirname
const [out = join(here, "dist/release"), metadata = out] = process.argv.slice(2)
const own = JSON.parse(readFileSync(join(here, "package.json"), "utf8"))
const { name, version, description } = own
// Not now: the same sources are described in the same words.
const committed = execFileSync("git", ["-c", "safe.directory=*", "log", "-1", "--format=%cI", "--", "."], {
  cwd: here,
  encoding: "utf8",
}).trim()

// The tar of Headlamp's own tools: the one that unpacks it again.
const tar = createRequire(join(here, "node_modules/@kinvolk/headlamp-plugin/package.json"))("tar")
const work = mkdtempSync(join(tmpdir(), "headlamp-plugin-"))
try {
  const top = join(work, name)
  mkdirSync(top)
  cpSync(join(here, "dist/main.js"), join(top, "main.js"))
  cpSync(join(here, "dist/locales"), join(top, "locales"), { recursive: true })
  // Headlamp reads from devDependencies which version of its tools a plugin was built with.
  const { scripts: _, overrides: __, ...shipped } = own
  writeFileSync(join(top, "package.json"), `${JSON.stringify(shipped, null, 2)}\n`)
  mkdirSync(out, { recursive: true })
  mkdirSync(metadata, { recursive: true })
  const archive = join(out, `${name}-${version}.tar.gz`)
  // Named one by one: a folder's own order is the file system's.
  const files = ["locales/en/translation.json", "main.js", "package.json"].map((file) => `${name}/${file}`)
  await tar.create(
    { file: archive, cwd: work, gzip: { level: 9 }, portable: true, mtime: new Date(0), noDirRecurse: true },
    files,
  )
  const sha256 = createHash("sha256").update(readFileSync(archive)).digest("hex")
  writeFileSync(`${archive}.sha256`, `${sha256}  ${name}-${version}.tar.gz\n`)
  writeFileSync(
    join(metadata, "artifacthub-pkg.yml"),
    stringify(
      {
        version,
        name,
        displayName: "di-framework Platform Instances",
        createdAt: committed,
        description,
        license: own.license,
        homeURL: "https://github.com/di-framework/platform",
        keywords: ["headlamp", "headlamp-plugin", "platform", "vcluster"],
        annotations: {
          "headlamp/plugin/archive-url": `https://github.com/di-framework/platform/releases/download/v${version}/${name}-${version}.tar.gz`,
          "headlamp/plugin/archive-checksum": `SHA256:${sha256}`,
          "headlamp/plugin/version-compat": ">=0.46",
          "headlamp/plugin/distro-compat": "in-cluster,web,docker-desktop,desktop",
        },
      },
      { lineWidth: 0 },
    ),
  )
  console.log(`archive=${archive}\nsha256=${sha256}`)
} finally {
  rmSync(work, { recursive: true, force: true })
}
