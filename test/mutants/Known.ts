// What earlier runs have found out of mutants, as long as what they went by is as it was: a run that ended early, or one over a
// part of the mutants, is gone on from.
import { createHash } from "node:crypto"
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Option, Schema } from "effect"
import type { Mutant } from "./Mutant.ts"
import { Outcome } from "./Workbench.ts"

const Kept = Schema.fromJsonString(
  Schema.Record(Schema.String, Schema.Struct({ outcome: Outcome, proof: Schema.String })),
)
const decodeKept = Schema.decodeUnknownOption(Kept)

export interface Known {
  /** What is known of a mutant, if nothing it went by has changed since. */
  readonly of: (mutant: Mutant) => Outcome | undefined
  /** Keeps it, and writes the file at once. */
  readonly learn: (mutant: Mutant, outcome: Outcome) => void
}

/** `loaded`: the files of the sources and tests that a test loads, itself one of them. */
export const makeKnown = (root: string, file: string, loaded: (test: string) => Iterable<string>): Known => {
  const text = existsSync(file) ? readFileSync(file, "utf8") : ""
  const kept = new Map(Object.entries(Option.getOrElse(decodeKept(text), () => ({}))))

  // Read at once: what is edited while mutants meet their tests is not what those have met.
  const contents = new Map(
    globSync(["{src,test,tools,crd,charts,docs,examples}/**", "package-lock.json", "tsconfig.json"], {
      cwd: root,
      exclude: ["**/node_modules"],
    })
      .filter((path) => statSync(join(root, path)).isFile())
      .toSorted()
      .map((path) => [
        path,
        createHash("sha256")
          .update(readFileSync(join(root, path)))
          .digest("hex"),
      ]),
  )
  const digest = (files: Iterable<string>): string => {
    const hash = createHash("sha256")
    for (const each of files) hash.update(`${each} ${contents.get(each)}\n`)
    return hash.digest("hex")
  }
  const everything = digest(contents.keys())
  /** What a test may read without loading it. */
  const beside = digest([...contents.keys()].filter((path) => !/^(src|test|tools)\/.*\.ts$/.test(path)))

  /** One test tells of what it loads; an outcome without a test depends on all there is. */
  const proofOf = ({ edit }: Mutant, outcome: Outcome): string => {
    const test = outcome._tag === "Caught" ? outcome.test : undefined
    const went = test === undefined ? everything : digest([...loaded(test)].toSorted())
    return createHash("sha256")
      .update([beside, went, edit.file, edit.start, edit.end, edit.text].join("\0"))
      .digest("hex")
  }

  return {
    of: (mutant) => {
      const found = kept.get(mutant.name)
      if (found?.outcome._tag === "Caught" && found.outcome.test !== undefined) {
        if (!existsSync(join(root, found.outcome.test))) return undefined
      }
      return found !== undefined && found.proof === proofOf(mutant, found.outcome) ? found.outcome : undefined
    },
    learn: (mutant, outcome) => {
      kept.set(mutant.name, { outcome, proof: proofOf(mutant, outcome) })
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, JSON.stringify(Object.fromEntries(kept)))
    },
  }
}
