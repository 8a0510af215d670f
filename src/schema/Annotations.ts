// The annotations of a PlatformInstance: what each is for, who sets it, and what may stand in one that people set. The
// reference's table is generated from here. Pure.
import { Option, Result } from "effect"
import { VERSION_PATTERN } from "./Fields.ts"
import {
  ANNOTATION_APPROVE,
  ANNOTATION_APPROVED,
  ANNOTATION_DAY_TWO,
  ANNOTATION_DRIFT,
  ANNOTATION_FRESH_START,
  ANNOTATION_PAUSED,
  ANNOTATION_PLAN,
  ANNOTATION_PROTECT,
  ANNOTATION_RECONCILE_REQUESTED,
  ANNOTATION_RESTORE,
  ANNOTATION_SKIP_STORAGE_CLEANUP,
  ANNOTATION_SLEEP,
  ANNOTATION_STORAGE_CLEANED,
  ANNOTATION_STORAGE_CLEANUP_COUNTED,
  ANNOTATION_STORAGE_CLEANUP_FAILURES,
  ANNOTATION_TRACE,
  ANNOTATION_UPGRADE_VCLUSTER,
  ANNOTATION_WINDOW,
  GROUP,
} from "./Names.ts"
import { nearest } from "./Near.ts"
import { withoutSecrets } from "./Secrets.ts"
import { truncateAtWord } from "./Text.ts"
import { parseTime } from "./Time.ts"
import { parseWindows } from "./Windows.ts"

type Strings = Readonly<Record<string, string>>

/** What is wrong with a text, as what would be right; nothing when it is right. */
type Check = (text: string) => Option.Option<string>

const anything: Check = () => Option.none()
const oneOf =
  (...values: ReadonlyArray<string>): Check =>
  (text) =>
    values.includes(text)
      ? Option.none()
      : Option.some(`it takes ${values.map((value) => `"${value}"`).join(" or ")}`)
const flag = oneOf("true", "false")
const time: Check = (text) =>
  Option.isSome(parseTime(text))
    ? Option.none()
    : Option.some(`it takes a time such as "2026-01-02T03:04:05Z"`)

const version = new RegExp(VERSION_PATTERN)
const planned: Check = (text) =>
  text === "spec" || version.test(text)
    ? Option.none()
    : Option.some(`it takes "spec", or an exact version such as "6.0.22"`)
const approval: Check = (text) =>
  /^[1-9][0-9]{0,15}(-[0-9a-f]{12})?$/.test(text)
    ? Option.none()
    : Option.some(
        `it takes the number of a generation, or what kubectl pi plan says, such as "3-0123456789ab"`,
      )

const backupId: Check = (text) =>
  /^[0-9a-f]{16}$/.test(text) ? Option.none() : Option.some("it takes what kubectl pi restore writes")

const windows: Check = (text) => Result.getFailure(parseWindows(text))

export interface AnnotationRow {
  /** Markdown. */
  readonly meaning: string
  /** Absent of what the operator alone sets. */
  readonly check?: Check
  /** While its value is wrong, the last one that was right counts; else it counts as absent. */
  readonly keeps?: true
}

/** Every annotation of a PlatformInstance that the operator reads. */
export const annotationRows = {
  [ANNOTATION_PAUSED]: {
    meaning:
      '`"true"`: nothing is written in the target or the instance [until it goes](day-two.md#pause); a deletion is carried out',
    check: flag,
    keeps: true,
  },
  [ANNOTATION_SLEEP]: {
    meaning:
      '`"true"`: the vCluster is scaled to zero with its workloads [until it goes](day-two.md#sleep); data and settings stay',
    check: flag,
    keeps: true,
  },
  [ANNOTATION_WINDOW]: {
    meaning:
      "`Sat 02:00-04:00 Europe/Berlin`: repairs and upgrades begin [inside of it alone](day-two.md#maintenance-windows)",
    check: windows,
    keeps: true,
  },
  [ANNOTATION_PLAN]: {
    meaning:
      '`"spec"`, or a version: what an install of it would do [is looked at and told](day-two.md#plan), and nothing is done',
    check: planned,
  },
  [ANNOTATION_APPROVE]: {
    meaning:
      '`"required"`: changes of `spec` and `spec.version` wait [until they are approved](day-two.md#approval)',
    check: oneOf("required"),
    keeps: true,
  },
  [ANNOTATION_APPROVED]: {
    meaning:
      "what may be installed: a plan as `kubectl pi plan` names it, or the `metadata.generation` of [the plan that was told last](day-two.md#approval)",
    check: approval,
  },
  [ANNOTATION_DRIFT]: {
    meaning:
      '`"detect"`: where a repair is due, what differs inside the instance [is looked at and told](day-two.md#drift-report), and nothing is put back',
    check: oneOf("detect"),
    keeps: true,
  },
  [ANNOTATION_UPGRADE_VCLUSTER]: {
    meaning:
      '`"true"`: the vCluster is moved to the [chart that is embedded in the operator](day-two.md#vcluster-upgrade), where that is a newer one; back again if it does not come up',
    check: flag,
    keeps: true,
  },
  [ANNOTATION_RESTORE]: {
    meaning:
      "the id of a backup, set by `kubectl pi restore`: the vCluster is made, and nothing is installed in it until [its data is back](day-two.md#restore) and the annotation gone",
    check: backupId,
    keeps: true,
  },
  [ANNOTATION_PROTECT]: {
    meaning:
      '`"true"`: the instance [is not deleted](operate.md#keep-an-instance-from-being-deleted) while it is there',
    check: flag,
  },
  [ANNOTATION_RECONCILE_REQUESTED]: {
    meaning:
      "any text, such as the time. A new one ends the pause after failures of target, install or cleanup: the next try is made at once, and pauses begin at their shortest again. The same one twice does nothing, and nothing is tried that is not due",
    check: anything,
  },
  [ANNOTATION_FRESH_START]: {
    meaning:
      "the time. Within a day of it, an install that is refused because the state of what is installed is missing begins without one: it takes over what is there by its name, Helm releases that were in use among it. Where there is a state it does nothing",
    check: time,
  },
  [ANNOTATION_SKIP_STORAGE_CLEANUP]: {
    meaning: '`"true"`: a deletion leaves the default storage root on the node',
    check: flag,
  },
  [ANNOTATION_DAY_TWO]: {
    meaning:
      "what the operator remembers of the annotations above, for itself and for `kubectl pi`: since when an instance is paused or asleep and what that saves, the values that count, and those that it has told are wrong",
  },
  [ANNOTATION_TRACE]: {
    meaning:
      "only with [traces](traces.md): `traceparent`, generation and beginning of the newest change, and the instance's UID",
  },
  [ANNOTATION_STORAGE_CLEANED]: {
    meaning:
      "the UID of the instance whose default storage root was removed; another value counts for nothing",
  },
  [ANNOTATION_STORAGE_CLEANUP_FAILURES]: {
    meaning: "how many cleanup Jobs have failed; the backoff follows from it",
  },
  [ANNOTATION_STORAGE_CLEANUP_COUNTED]: {
    meaning:
      "the UID of the failed Job that was counted last, and when: it counts once, and the pause after it outlives a restart",
  },
} as const satisfies Readonly<Record<string, AnnotationRow>>

const rows: ReadonlyArray<readonly [string, AnnotationRow]> = Object.entries(annotationRows)

/** Of the metadata of an instance, what its annotations are read from and told with. */
export interface Annotated {
  readonly namespace: string
  readonly name: string
  readonly annotations?: Strings | undefined
}

export interface BadAnnotation {
  readonly name: string
  readonly value: string
  /** Names annotation, value, what counts instead, and the way out. */
  readonly message: string
}

export interface ReadAnnotations {
  /** Of those that decide what is done: the values that count. */
  readonly kept: Strings
  readonly bad: ReadonlyArray<BadAnnotation>
}

/** So many that nobody knows are told of: who writes more has read of those. */
const MAX_UNKNOWN = 5

/** Under the operator's own prefix: whoever has written one meant something by it. */
const unknownIn = (annotations: Strings): ReadonlyArray<readonly [name: string, value: string]> =>
  Object.entries(annotations)
    .filter(([name]) => name.startsWith(`${GROUP}/`) && !(name in annotationRows))
    .slice(0, MAX_UNKNOWN)

const meant = (name: string): string => {
  const peoples = rows.flatMap(([known, { check }]) => (check === undefined ? [] : [bare(known)]))
  const near = nearest(bare(name), peoples)
  return near === undefined ? "" : ` Did you mean ${GROUP}/${near}?`
}
const bare = (name: string): string => name.slice(GROUP.length + 1)

const shown = (value: string): string => JSON.stringify(truncateAtWord(withoutSecrets(value), 120))

/**
 * Of the instance with that name. `before`: the values that counted until now. One that is wrong changes nothing: what counted
 * before still does.
 */
export const readAnnotations = (
  { namespace, name: instance, annotations = {} }: Annotated,
  before: Strings,
): ReadAnnotations => {
  const kept: Record<string, string> = {}
  const bad: Array<BadAnnotation> = []
  for (const [name, { check, keeps }] of rows) {
    const value = annotations[name]
    if (value === undefined || check === undefined) continue
    const wrong = Option.getOrUndefined(check(value))
    const counts = wrong === undefined ? value : before[name]
    if (keeps === true && counts !== undefined) kept[name] = counts
    if (wrong === undefined) continue
    const instead =
      keeps === true && counts !== undefined
        ? `${shown(counts)} still counts`
        : "it counts as if it were not there"
    bad.push({
      name,
      value,
      message: `annotation ${name}: ${shown(value)} is not understood: ${wrong}; ${instead}. Correct it, or remove it with kubectl annotate pi ${instance} --namespace ${namespace} ${name}-`,
    })
  }
  for (const [name, value] of unknownIn(annotations)) {
    bad.push({
      name,
      value,
      message: `annotation ${shown(name)} is none that this operator knows, and does nothing.${meant(name)} Remove it with kubectl annotate pi ${instance} --namespace ${namespace} ${shown(name)}-`,
    })
  }
  return { kept, bad }
}
