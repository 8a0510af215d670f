// What the server has said against it, above the form.
import { AlertTitle, Typography } from "@mui/material"
import type { Refusal } from "../../logic/refusal.ts"
import { useWords } from "../../useWords.ts"
import { Notice } from "./Notice.tsx"

export const RefusalNotice = ({ refusal }: { readonly refusal: Refusal }) => {
  const { t } = useWords()
  const titles: Readonly<Record<Refusal["kind"], string>> = {
    forbidden: t("You do not have the right to do this."),
    denied: t("A policy of the cluster refuses this."),
    exists: t("There is an instance of this name already."),
    conflict: t("The instance was changed meanwhile. Try again."),
    invalid: t("The cluster refuses these values."),
    notFound: t("There is no such instance or namespace, or the cluster has no PlatformInstances."),
    unauthorized: t("You are not signed in any more."),
    other: t("The cluster did not take it."),
  }
  return (
    <Notice severity="error" id="refusal">
      <AlertTitle>{titles[refusal.kind]}</AlertTitle>
      <Typography variant="body2">{refusal.message}</Typography>
      <Typography variant="body2">{t("Nothing that you have typed is lost.")}</Typography>
    </Notice>
  )
}
