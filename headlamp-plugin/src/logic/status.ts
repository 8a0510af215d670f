// A PlatformInstance as it is shown. Nothing of it is taken for granted: a new object has no status, an older or newer
// operator writes another one, and `conditions` may be null.
import { crd } from "../generated/crd.ts"
import { isList, isObject, type Json, valueAt } from "./schema.ts"

export type Tone = "success" | "warning" | "error" | ""

const text = (value: Json | undefined): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined
const number = (value: Json | undefined): number | undefined =>
  typeof value === "number" ? value : undefined

export interface ConditionView {
  readonly type: string
  /** `True`, `False`, `Unknown`, or whatever else stands there. */
  readonly status: string
  readonly reason: string
  readonly message: string
  readonly since: string | undefined
  readonly generation: number | undefined
  readonly tone: Tone
  /** What the reason means, and what the condition is about; nothing for those this release does not know. */
  readonly meaning: string | undefined
  readonly trueWhen: string | undefined
  /** Where it is explained. */
  readonly link: string | undefined
}

const docs = `https://github.com/di-framework/platform/blob/v${crd.platformVersion}/docs`

/** A reason of `Ready` is often that of the condition that failed. */
const meaningOf = (type: string, status: string, reason: string): string | undefined => {
  if (status !== "True" && status !== "False") return undefined
  const of = (name: string) => crd.conditions.find((known) => known.type === name)?.reasons[status][reason]
  const own = of(type)
  if (own !== undefined && !/^As on /.test(own)) return own
  return type === "Ready" || own !== undefined ? (of("TargetReady") ?? of("Installed")) : undefined
}

/** The section about the reason; of one that this release does not know, the page with all of them. */
const linkOf = (reason: string): string => {
  const known = crd.conditions.some(({ reasons }) =>
    (["True", "False"] as const).some((status) => Object.hasOwn(reasons[status], reason)),
  )
  return `${docs}/reasons.md${known ? `#${reason.toLowerCase()}` : ""}`
}

/** The operator expects these to pass by themselves: not yet is no failure. */
const waiting = new Set([...crd.waitingReasons, "TargetPending", "Installing", "WaitingForStorageCleanup"])

const toneOf = (status: string, reason: string): Tone => {
  if (status === "True") return "success"
  if (status !== "False") return ""
  return waiting.has(reason) || reason === "AdmissionPolicyUnavailable" ? "warning" : "error"
}

const conditionView = (condition: Json): ConditionView | undefined => {
  if (!isObject(condition)) return undefined
  const type = text(condition.type)
  if (type === undefined) return undefined
  const status = text(condition.status) ?? "Unknown"
  const reason = text(condition.reason) ?? ""
  const known = crd.conditions.find((one) => one.type === type)
  return {
    type,
    status,
    reason,
    message: text(condition.message) ?? "",
    since: text(condition.lastTransitionTime),
    generation: number(condition.observedGeneration),
    tone: toneOf(status, reason),
    meaning: meaningOf(type, status, reason),
    trueWhen: known?.trueWhen,
    link: known === undefined ? undefined : linkOf(reason),
  }
}

/** All there are, those that this release knows first and in its order. */
export const conditionsOf = (object: unknown): ReadonlyArray<ConditionView> => {
  const given = valueAt(object, ["status", "conditions"])
  const views = isList(given) ? given.flatMap((condition) => conditionView(condition) ?? []) : []
  const order = crd.conditions.map(({ type }) => type)
  const rank = ({ type }: ConditionView) => (order.includes(type) ? order.indexOf(type) : order.length)
  return [...views].sort((a, b) => rank(a) - rank(b))
}

export interface PhaseView {
  /** Empty when there is none yet. */
  readonly phase: string
  readonly known: boolean
  readonly tone: Tone
}

const PHASE_TONES: Readonly<Record<string, Tone>> = {
  Ready: "success",
  Failed: "error",
  Provisioning: "warning",
  Installing: "warning",
  Deleting: "warning",
}

export const phaseOf = (object: unknown): PhaseView => {
  const phase = text(valueAt(object, ["status", "phase"])) ?? ""
  const known = crd.phases.includes(phase)
  return { phase, known: known || phase === "", tone: known ? (PHASE_TONES[phase] ?? "") : "" }
}

/** `True`, `False`, `Unknown`; nothing when there is no such condition. */
export const readyOf = (object: unknown): ConditionView | undefined =>
  conditionsOf(object).find(({ type }) => type === "Ready")

export interface VersionView {
  readonly wanted: string
  readonly installed: string | undefined
  /** While another one is installed than is asked for. */
  readonly differs: boolean
  /** `6.0.21 → 6.0.22`, or the version alone. */
  readonly text: string
}

export const versionOf = (object: unknown): VersionView => {
  const wanted = text(valueAt(object, ["spec", "version"])) ?? ""
  const installed = text(valueAt(object, ["status", "installedVersion"]))
  const differs = installed !== undefined && installed !== wanted
  return { wanted, installed, differs, text: differs ? `${installed} → ${wanted}` : wanted }
}

export interface StatusView {
  /** Of the generation that is asked for; the status of an older one is not yet about what the spec says. */
  readonly current: boolean
  readonly observedGeneration: number | undefined
  readonly endpoints: { readonly kubernetes: string | undefined; readonly http: string | undefined }
  readonly kubeconfigSecret: string | undefined
  readonly applied:
    | {
        readonly generation: number | undefined
        readonly tenants: number | undefined
        readonly users: number | undefined
        readonly issuer: string | undefined
        readonly hostImage: string | undefined
      }
    | undefined
  readonly lastRepair: string | undefined
  readonly target: {
    readonly serviceUid: string | undefined
    /** Since when a resync runs. */
    readonly resyncStarted: string | undefined
    readonly resyncing: boolean
  }
}

export const statusOf = (object: unknown): StatusView => {
  const at = (...path: ReadonlyArray<string>) => valueAt(object, ["status", ...path])
  const observedGeneration = number(at("observedGeneration"))
  return {
    current: observedGeneration === number(valueAt(object, ["metadata", "generation"])),
    observedGeneration,
    endpoints: { kubernetes: text(at("endpoints", "kubernetes")), http: text(at("endpoints", "http")) },
    kubeconfigSecret: text(at("kubeconfigSecretRef", "name")),
    applied: isObject(at("applied"))
      ? {
          generation: number(at("applied", "generation")),
          tenants: number(at("applied", "tenants")),
          users: number(at("applied", "users")),
          issuer: text(at("applied", "tenantAuthIssuer")),
          hostImage: text(at("applied", "tenantHostImage")),
        }
      : undefined,
    lastRepair: text(at("lastRepair")),
    target: {
      serviceUid: text(at("target", "serviceUID")),
      resyncStarted: text(at("target", "resyncStarted")),
      resyncing: text(at("target", "resyncServiceUID")) !== undefined,
    },
  }
}
