// Instead of instances: why there are none to be seen.
import { SectionBox } from "@kinvolk/headlamp-plugin/lib/CommonComponents"
import { Alert, AlertTitle, Typography } from "@mui/material"
import type { Absence } from "../logic/crdState.ts"
import { useWords } from "../useWords.ts"

export const Absent = ({ absence }: { readonly absence: Absence }) => {
  const { t, say } = useWords()
  return (
    <SectionBox title={t("Platform Instances")}>
      <Alert severity={absence.kind === "other" ? "error" : "info"} role="status">
        <AlertTitle>{say(absence.words)}</AlertTitle>
        {/* Of a 404 without an object Headlamp says that the cluster is unreachable, which it is not. */}
        {absence.kind !== "noCrd" && <Typography variant="body2">{absence.message}</Typography>}
      </Alert>
    </SectionBox>
  )
}
