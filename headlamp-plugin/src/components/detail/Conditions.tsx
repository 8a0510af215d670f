// The conditions, with what they mean and where that is explained.
import {
  DateLabel,
  SectionBox,
  SimpleTable,
  StatusLabel,
} from "@kinvolk/headlamp-plugin/lib/CommonComponents"
import { Link, Typography } from "@mui/material"
import { type ConditionView, conditionsOf } from "../../logic/status.ts"
import { useWords } from "../../useWords.ts"

const Meaning = ({ condition }: { readonly condition: ConditionView }) => {
  const { t } = useWords()
  const { message, meaning, trueWhen, link, type } = condition
  const plain = (text: string) => text.replaceAll("`", "")
  return (
    <>
      <Typography variant="body2" sx={{ overflowWrap: "anywhere" }}>
        {message}
      </Typography>
      {meaning !== undefined && (
        <Typography variant="caption" color="text.secondary" component="p">
          {t(plain(meaning))}
        </Typography>
      )}
      {link !== undefined && (
        <Typography variant="caption" component="p">
          <Link
            href={link}
            target="_blank"
            rel="noopener noreferrer"
            title={trueWhen === undefined ? "" : plain(trueWhen)}
          >
            {t("About {{type}}", { type })}
          </Link>
        </Typography>
      )}
    </>
  )
}

export const Conditions = ({ object }: { readonly object: unknown }) => {
  const { t } = useWords()
  const conditions = conditionsOf(object)
  return (
    <SectionBox title={t("Conditions")}>
      <SimpleTable
        data={[...conditions]}
        emptyMessage={t("The operator has reported nothing yet.")}
        columns={[
          { label: t("Condition"), getter: ({ type }: ConditionView) => type, gridTemplate: "min-content" },
          {
            label: t("Status"),
            getter: ({ status, tone }: ConditionView) => <StatusLabel status={tone}>{status}</StatusLabel>,
            gridTemplate: "min-content",
          },
          { label: t("Reason"), getter: ({ reason }: ConditionView) => reason, gridTemplate: "min-content" },
          {
            label: t("Message"),
            getter: (condition: ConditionView) => <Meaning condition={condition} />,
            gridTemplate: "auto",
          },
          {
            label: t("Since"),
            getter: ({ since }: ConditionView) =>
              since === undefined ? "" : <DateLabel date={since} format="mini" iconProps={{}} />,
            gridTemplate: "min-content",
          },
        ]}
      />
    </SectionBox>
  )
}
