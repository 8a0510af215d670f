// Phase and Ready as labels.
import { StatusLabel } from "@kinvolk/headlamp-plugin/lib/CommonComponents"
import { phaseOf, readyOf } from "../logic/status.ts"
import { useWords } from "../useWords.ts"

interface Props {
  readonly object: unknown
}

export const PhaseLabel = ({ object }: Props) => {
  const { t } = useWords()
  const { phase, known, tone } = phaseOf(object)
  if (phase === "") return <>{t("Not yet")}</>
  return (
    <StatusLabel status={tone}>
      {known ? phase : t("{{phase}} (unknown to this plugin)", { phase })}
    </StatusLabel>
  )
}

export const ReadyLabel = ({ object }: Props) => {
  const { t } = useWords()
  const ready = readyOf(object)
  if (ready === undefined) return <>{t("Not yet")}</>
  const { status, reason, tone } = ready
  return (
    <StatusLabel status={tone}>
      {status === "True" || reason === "" ? status : `${status}: ${reason}`}
    </StatusLabel>
  )
}
