// What people have asked for by annotations: that the instance is paused, or asleep, or that its repairs only look.
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
