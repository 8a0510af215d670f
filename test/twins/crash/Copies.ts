// Which points are played in which process: one world runs undisturbed, and where the operator can die it is copied
// (../../support/fork.ts), the copy to die and recover. A death in the recovery is played in a copy of that copy in its turn.
import { type Forked, fork } from "../../support/fork.ts"
import { type CrashPoint, formatPoint } from "./Point.ts"

/** What has become of a point: what its judge has said, or what was thrown before that, in words. */
export type Told<A> =
  | { readonly is: "found"; readonly found: A }
  | { readonly is: "thrown"; readonly message: string }

/** Or nobody knows. */
export type Answer<A> =
  | Told<A>
  /** The copy has died of something else than its world. */
  | { readonly is: "lost" }

const firstOf = ({ again: _, ...first }: CrashPoint): CrashPoint => first

/** In the process that began it has the answers of all points in the end; a copy has a part of them, and ends with it. */
export class Copies<A> {
  /** By the text of the point. */
  private answers: Record<string, Answer<A>> = {}
  private copy: Extract<Forked, { is: "copy" }> | undefined
  private points: ReadonlyArray<CrashPoint>
  private readonly ahead: Map<number, ReadonlyArray<ReadonlyArray<CrashPoint>>>
  private readonly tell: (point: string, answer: Answer<A>) => void
  private readonly isTime: () => boolean
  /** Points for which there was no time. */
  private readonly left = new Set<string>()

  /** `tell`: told of each answer, in the process that began. `isTime`: whether there is time for one more. */
  constructor(
    points: ReadonlyArray<CrashPoint>,
    tell: (point: string, answer: Answer<A>) => void,
    isTime: () => boolean,
  ) {
    this.points = points
    this.tell = tell
    this.isTime = isTime
    const groups = Map.groupBy(points, (point) => formatPoint(firstOf(point)))
    this.ahead = Map.groupBy(groups.values(), ([first]) => first?.call ?? 0)
  }

  /** At a call of the first operator: in a copy, of what it dies there; nothing in the world that goes on. */
  readonly at = (call: number): CrashPoint | undefined => {
    for (const group of this.ahead.get(call) ?? []) {
      const [point] = group
      if (point !== undefined && this.isCopyFor(group)) return firstOf(point)
    }
    return undefined
  }

  /** At a call of the recovery of a copy: in a copy of that, of what it dies once more. */
  readonly inRecovery = (call: number): CrashPoint | undefined => {
    for (const point of this.points) if (point.again?.call === call && this.isCopyFor([point])) return point
    // Whoever was copied to be copied again has nothing more to play.
    if (this.copy !== undefined && this.unanswered().length === 0) this.copy.end(JSON.stringify(this.answers))
    return undefined
  }

  /** The world of this process has come to its end, and judges what no copy has played. A copy ends here. */
  finish(judge: (point: CrashPoint) => Answer<A>): Readonly<Record<string, Answer<A>>> {
    this.hear(Object.fromEntries(this.unanswered().map((point) => [formatPoint(point), judge(point)])))
    this.copy?.end(JSON.stringify(this.answers))
    return this.answers
  }

  /** True in the copy, whose points these are. */
  private isCopyFor(points: ReadonlyArray<CrashPoint>): boolean {
    if (!this.isTime()) {
      for (const point of points) this.left.add(formatPoint(point))
      return false
    }
    const forked = fork()
    if (forked.is === "copy") {
      this.copy = forked
      this.answers = {}
      this.points = points
      return true
    }
    this.hear(
      forked.said === undefined
        ? Object.fromEntries(points.map((point) => [formatPoint(point), { is: "lost" }]))
        : JSON.parse(forked.said),
    )
    return false
  }

  private hear(answers: Readonly<Record<string, Answer<A>>>): void {
    Object.assign(this.answers, answers)
    if (this.copy === undefined)
      for (const [point, answer] of Object.entries(answers)) this.tell(point, answer)
  }

  private unanswered(): ReadonlyArray<CrashPoint> {
    return this.points.filter((point) => {
      const text = formatPoint(point)
      return !(text in this.answers || this.left.has(text))
    })
  }
}
