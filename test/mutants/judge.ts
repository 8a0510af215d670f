// What a run over mutants comes to. Pure.
import type { Mutant } from "./Mutant.ts"
import type { Outcome } from "./Workbench.ts"

export interface Verdict {
  readonly name: string
  readonly kind: Mutant["kind"]
  readonly outcome: Outcome
}

/** The least share that tests have to catch, of all that are not listed. */
const goals: Readonly<Record<Mutant["kind"], number>> = { "hand-made": 28 / 30, generated: 0.9 }

export interface Judgement {
  readonly all: number
  readonly caught: number
  /** Names of those that survived and are listed with a reason. */
  readonly listed: ReadonlyArray<string>
  readonly survived: ReadonlyArray<string>
  /** Why the run has failed; none when it has not. */
  readonly problems: ReadonlyArray<string>
}

const percent = (share: number): string => `${Math.floor(share * 1000) / 10} %`

const goalProblem = (
  verdicts: ReadonlyArray<Verdict>,
  kind: Mutant["kind"],
  listed: (name: string) => boolean,
): ReadonlyArray<string> => {
  const judged = verdicts.filter((each) => each.kind === kind && !listed(each.name))
  const share = judged.filter(({ outcome }) => outcome._tag === "Caught").length / judged.length
  return judged.length === 0 || share >= goals[kind]
    ? []
    : [`${percent(share)} of the ${kind} mutants are caught, and ${percent(goals[kind])} is the least`]
}

/** `reasons`: the mutants that are listed, and why no test can tell them from the sources. */
export const judge = (verdicts: ReadonlyArray<Verdict>, reasons: ReadonlyMap<string, string>): Judgement => {
  const caught = verdicts.filter(({ outcome }) => outcome._tag === "Caught")
  const alive = verdicts.filter(({ outcome }) => outcome._tag === "Survived").map(({ name }) => name)
  const isListed = (name: string) => reasons.has(name)
  return {
    all: verdicts.length,
    caught: caught.length,
    listed: alive.filter(isListed),
    survived: alive.filter((name) => !isListed(name)),
    problems: [
      ...(verdicts.length === 0 ? ["no mutant met a test"] : []),
      ...goalProblem(verdicts, "hand-made", isListed),
      ...goalProblem(verdicts, "generated", isListed),
      ...caught
        .filter(({ name }) => isListed(name))
        .map(({ name }) => `listed as one that no test can catch, and caught: ${name}`),
    ],
  }
}

export const closingLine = ({ all, caught, listed }: Judgement): string =>
  `mutants: ${caught} of ${all} caught${listed.length === 0 ? "" : `, ${listed.length} listed as without effect`}`
