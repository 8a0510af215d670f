// What the operator has told about the instance lately; it goes on while the page is open.
import { K8s } from "@kinvolk/headlamp-plugin/lib"
import {
  DateLabel,
  SectionBox,
  SimpleTable,
  StatusLabel,
} from "@kinvolk/headlamp-plugin/lib/CommonComponents"
import { Alert } from "@mui/material"
import { type EventView, eventsOf } from "../../logic/events.ts"
import { refusalOf } from "../../logic/refusal.ts"
import { kind } from "../../logic/schema.ts"
import { useWords } from "../../useWords.ts"

interface Props {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly cluster: string
}

export const Events = ({ name, namespace, uid, cluster }: Props) => {
  const { t } = useWords()
  const [events, error] = K8s.event.default.useList({
    cluster,
    namespace,
    fieldSelector: `involvedObject.kind=${kind},involvedObject.name=${name},involvedObject.uid=${uid}`,
  })
  return (
    <SectionBox title={t("Events")}>
      {error !== null && error !== undefined ? (
        <Alert severity={refusalOf(error).kind === "forbidden" ? "info" : "warning"}>
          {refusalOf(error).kind === "forbidden"
            ? t("You may not see Events here.")
            : refusalOf(error).message}
        </Alert>
      ) : (
        <SimpleTable
          data={events === null ? null : [...eventsOf(events.map((event) => event.jsonData))]}
          emptyMessage={t("There is no Event about it.")}
          columns={[
            {
              label: t("Type"),
              getter: ({ type }: EventView) => (
                <StatusLabel status={type === "Warning" ? "warning" : ""}>{type}</StatusLabel>
              ),
              gridTemplate: "min-content",
            },
            { label: t("Reason"), getter: ({ reason }: EventView) => reason, gridTemplate: "min-content" },
            {
              label: t("Message"),
              getter: ({ message, count }: EventView) =>
                count > 1 ? t("{{message}} ({{count}} times)", { message, count }) : message,
              gridTemplate: "auto",
            },
            {
              label: t("Last seen"),
              getter: ({ last }: EventView) =>
                last === undefined ? "" : <DateLabel date={last} format="mini" iconProps={{}} />,
              gridTemplate: "min-content",
            },
          ]}
        />
      )}
    </SectionBox>
  )
}
