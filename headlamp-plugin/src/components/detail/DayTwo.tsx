// What people have asked for by annotations: that the instance is paused.
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
