// All instances the user may see.
import { Router } from "@kinvolk/headlamp-plugin/lib"
import { ResourceListView } from "@kinvolk/headlamp-plugin/lib/CommonComponents"
import { Alert, Button } from "@mui/material"
import { Link as RouterLink } from "react-router-dom"
import { absenceOf } from "../logic/crdState.ts"
import { type ConditionView, phaseOf, readyOf, versionOf } from "../logic/status.ts"
import { PlatformInstance } from "../PlatformInstance.ts"
import { CREATE } from "../routes.ts"
import { useWords } from "../useWords.ts"
import { Absent } from "./Absent.tsx"
import { PhaseLabel, ReadyLabel } from "./labels.tsx"

const readyText = (ready: ConditionView | undefined): string =>
  ready === undefined ? "" : [ready.status, ready.reason].filter((part) => part !== "").join(" ")

/** Not asked for rights first: they may be there in one namespace alone, which is named in the form. */
const CreateButton = () => {
  const { t } = useWords()
  return (
    <Button component={RouterLink} to={Router.createRouteURL(CREATE)} variant="contained" size="small">
      {t("Create instance")}
    </Button>
  )
}

export const InstanceList = () => {
  const { t, say } = useWords()
  // The same question as the table's own, so it is asked once.
  const [, error] = PlatformInstance.useList()
  if (error?.status === 404) return <Absent absence={absenceOf(error)} />
  const absence = error?.status === 403 ? absenceOf(error) : undefined
  return (
    <>
      {absence !== undefined && (
        <Alert severity="info" role="status" sx={{ m: 2 }}>
          {say(absence.words)}
        </Alert>
      )}
      <ResourceListView
        title={t("Platform Instances")}
        resourceClass={PlatformInstance}
        headerProps={{ titleSideActions: [<CreateButton key="create" />] }}
        enableRowActions={false}
        enableRowSelection={false}
        columns={[
          "name",
          "namespace",
          {
            id: "phase",
            label: t("Phase"),
            getValue: (item: PlatformInstance) => phaseOf(item.jsonData).phase,
            render: (item: PlatformInstance) => <PhaseLabel object={item.jsonData} />,
          },
          {
            id: "version",
            label: t("Version"),
            getValue: (item: PlatformInstance) => versionOf(item.jsonData).text,
          },
          {
            id: "ready",
            label: t("Ready"),
            getValue: (item: PlatformInstance) => readyText(readyOf(item.jsonData)),
            render: (item: PlatformInstance) => <ReadyLabel object={item.jsonData} />,
          },
          "age",
        ]}
      />
    </>
  )
}
