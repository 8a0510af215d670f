// The order in which test files begin: one that takes minutes and begins last leaves all but one core idle at the end. How
// long a file took is known of an earlier run on this machine alone; a new checkout goes by this list. And what has to have the
// operator of the cluster for itself comes last: whoever waits for that keeps a worker from those that could share it.
import path from "node:path"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** Beginnings of paths from the root of the repository, the longest runs first. */
const long = [
  ...["failedInstall", "twoInstances", "install"].map((name) => `test/simulation/crashPoints/${name}.`),
  "test/simulation/days.",
  "test/simulation/crashPoints/",
  "test/simulation/faults.",
  "test/main/Start.",
  "test/services/Pulumi/PackageStore.",
  "test/simulation/",
  "test/services/Pulumi/Install.real.",
  "test/conformance/engine.real.",
  "test/headlamp-plugin/access.real.",
  "test/headlamp-plugin/browser.real.",
  "test/services/Pulumi/Engine.real.",
]

/** Those of the end-to-end tests that disturb the operator (../e2e/support/OperatorLock.ts). */
export const alone = [
  ...["backup", "chart", "crash", "deletion", "drift", "image"],
  ...["node", "quota", "rotatePassphrase", "traces", "vclusterUpgrade"],
].map((name) => `test/e2e/${name}.`)

/** The place of a file in the order: the lower, the earlier. `file`: from the root of the repository. */
export const place = (file: string): number => {
  if (alone.some((each) => file.startsWith(each))) return long.length + 1
  const found = long.findIndex((each) => file.startsWith(each))
  return found < 0 ? long.length : found
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>) {
    const of = ({ moduleId }: TestSpecification) => place(path.relative(this.ctx.config.root, moduleId))
    return (await super.sort(files)).toSorted((left, right) => of(left) - of(right))
  }
}
