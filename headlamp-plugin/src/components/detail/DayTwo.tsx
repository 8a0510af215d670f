// What people have asked for by annotations: that the instance is paused, or asleep, that its repairs only look, or that its
// vCluster gets another chart.
import { DateLabel } from "@kinvolk/headlamp-plugin/lib/CommonComponents"
import { dayTwoOf } from "../../logic/dayTwo.ts"
import { useWords } from "../../useWords.ts"

interface Props {
  readonly object: unknown
}

export const isPaused = (object: unknown): boolean => {
  const { pausedSince, pauseUnseen } = dayTwoOf(object)
  return pausedSince !== undefined || pauseUnseen
}

export const Paused = ({ object }: Props) => {
  const { t } = useWords()
  const { pausedSince } = dayTwoOf(object)
  return pausedSince === undefined ? (
    t("asked for, and not yet seen by the operator")
  ) : (
    <DateLabel date={pausedSince} />
  )
}

export const isToSleep = (object: unknown): boolean => dayTwoOf(object).sleep !== undefined

export const Asleep = ({ object }: Props) => {
  const { t } = useWords()
  const { sleep, pausedSince } = dayTwoOf(object)
  if (sleep === undefined) return null
  if (sleep.unseen) {
    return pausedSince === undefined
      ? t("asked for, and not yet seen by the operator")
      : t("asked for, after the pause")
  }
  if (sleep.since === undefined) return t("falls asleep")
  return (
    <>
      <DateLabel date={sleep.since} />{" "}
      {t("(pods ended: {{pods}}; memory that they had asked for: {{mebibytes}} MiB)", {
        pods: sleep.pods,
        mebibytes: sleep.mebibytes,
      })}
    </>
  )
}

export const detectsDrift = (object: unknown): boolean => dayTwoOf(object).drift !== undefined

export const Drift = ({ object }: Props) => {
  const { t } = useWords()
  const { objects, since } = dayTwoOf(object).drift ?? {}
  if (objects === undefined) return t("not looked at since the last install")
  return (
    <>
      {objects === 0
        ? t("nothing differs, from this look on:")
        : t("objects that differ: {{objects}} (kubectl pi plan says which), found", { objects })}{" "}
      {since !== undefined && <DateLabel date={since} />}
    </>
  )
}

export const isUpgraded = (object: unknown): boolean => dayTwoOf(object).upgrade !== undefined

export const Upgrade = ({ object }: Props) => {
  const { t } = useWords()
  const { upgrade } = dayTwoOf(object)
  if (upgrade === undefined) return null
  const { state, from = "?", to = "?", since, why = "" } = upgrade
  if (state === "asked") return t("has the operator's chart, or is upgraded to it")
  const words = {
    upgrading: t("is upgraded from chart {{from}} to {{to}}, begun", { from, to }),
    "rolling back": t("is rolled back from chart {{to}} to {{from}}, begun", { from, to }),
    failed: t("keeps chart {{from}}: no upgrade to {{to}}, which has failed, begun", { from, to }),
    refused: t("keeps chart {{from}}: the operator's, {{to}}, is the older one, as was seen", { from, to }),
    done: t("has chart {{to}}, upgraded from {{from}}, begun", { from, to }),
  }
  return (
    <>
      {words[state]} {since !== undefined && <DateLabel date={since} />}
      {why !== "" && <div>{why}</div>}
    </>
  )
}
