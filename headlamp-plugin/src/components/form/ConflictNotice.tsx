// An edit that came too late: what somebody else has changed, who it was, and how to go on.
import { SimpleTable } from "@kinvolk/headlamp-plugin/lib/CommonComponents"
import { AlertTitle, Button, Typography } from "@mui/material"
import type { Author, Change, Conflict } from "../../logic/conflict.ts"
import type { Json } from "../../logic/schema.ts"
import { useWords } from "../../useWords.ts"
import { Notice } from "./Notice.tsx"

const shown = (value: Json | undefined): string =>
  value === undefined ? "—" : typeof value === "string" ? value : JSON.stringify(value)

interface Props {
  readonly conflict: Conflict
  /** `keep`: with what was edited here on top. */
  readonly onReopen: ((keep: boolean) => void) | undefined
}

export const ConflictNotice = ({ conflict, onReopen }: Props) => {
  const { t } = useWords()
  const who = (authors: ReadonlyArray<Author>) =>
    authors.length === 0
      ? t("unknown")
      : authors
          .map(({ manager, time }) =>
            time === undefined ? manager : t("{{manager}} at {{time}}", { manager, time }),
          )
          .join(", ")
  const titles: Readonly<Record<Conflict["kind"], string>> = {
    none: "",
    gone: t("The instance was deleted meanwhile."),
    replaced: t("The instance was deleted meanwhile, and made again under the same name."),
    deleting: t("The instance is being deleted."),
    changed: t("Somebody else has changed the instance since you opened it. Nothing was overwritten."),
  }
  return (
    <Notice severity="warning" id="conflict">
      <AlertTitle>{titles[conflict.kind]}</AlertTitle>
      {conflict.kind === "changed" && (
        <SimpleTable
          data={[...conflict.changes]}
          columns={[
            { label: t("Field"), getter: ({ field }: Change) => field },
            { label: t("Was"), getter: ({ before }: Change) => shown(before) },
            { label: t("Is now"), getter: ({ after }: Change) => shown(after) },
            { label: t("By"), getter: ({ by }: Change) => who(by) },
          ]}
        />
      )}
      {onReopen !== undefined && conflict.kind === "changed" && (
        <>
          <Typography variant="body2">{t("Open the form on what is stored now:")}</Typography>
          <Button size="small" onClick={() => onReopen(true)}>
            {t("Reopen with my changes on top")}
          </Button>
          <Button size="small" onClick={() => onReopen(false)}>
            {t("Reopen without my changes")}
          </Button>
        </>
      )}
    </Notice>
  )
}
