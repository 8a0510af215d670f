// Deleting: what goes and what stays, before it is done; why it is not done yet, while it lasts.
import {
  Alert,
  AlertTitle,
  Button,
  Dialog,
  DialogActions,
  DialogContent,
  DialogTitle,
  Typography,
} from "@mui/material"
import { useState } from "react"
import * as api from "../../api.ts"
import { deletionPlan, holdupOf } from "../../logic/deletion.ts"
import { type Refusal, refusalOf } from "../../logic/refusal.ts"
import type { Words } from "../../logic/words.ts"
import { useWords } from "../../useWords.ts"
import { RefusalNotice } from "../form/RefusalNotice.tsx"

const List = ({ title, items }: { readonly title: string; readonly items: ReadonlyArray<Words> }) => {
  const { say } = useWords()
  if (items.length === 0) return null
  return (
    <>
      <Typography variant="subtitle2" component="h3">
        {title}
      </Typography>
      <ul>
        {items.map((item) => (
          <li key={item.text}>{say(item)}</li>
        ))}
      </ul>
    </>
  )
}

interface Props {
  readonly object: unknown
  readonly place: api.Place
  readonly uid: string
}

export const DeleteInstance = ({ object, place, uid }: Props) => {
  const { t } = useWords()
  const [open, setOpen] = useState(false)
  const [refusal, setRefusal] = useState<Refusal>()
  const plan = deletionPlan(object)
  const title = t("Delete {{name}}?", { name: `${place.namespace}/${place.name}` })
  const confirm = async () => {
    setRefusal(undefined)
    try {
      await api.remove(place, uid)
      setOpen(false)
    } catch (error) {
      setRefusal(refusalOf(error))
    }
  }
  return (
    <>
      <Button color="error" size="small" onClick={() => setOpen(true)}>
        {t("Delete")}
      </Button>
      {open && (
        <Dialog open onClose={() => setOpen(false)} maxWidth="sm" fullWidth aria-labelledby="delete-title">
          <DialogTitle id="delete-title">{title}</DialogTitle>
          <DialogContent>
            {refusal !== undefined && <RefusalNotice refusal={refusal} />}
            <Typography variant="body2" sx={{ mb: 1 }}>
              {t("Its deletion policy is {{policy}}.", { policy: plan.policy })}
            </Typography>
            <List title={t("Removed for ever:")} items={plan.goes} />
            <List title={t("Stays:")} items={plan.stays} />
          </DialogContent>
          <DialogActions>
            <Button autoFocus onClick={() => setOpen(false)}>
              {t("Cancel")}
            </Button>
            <Button color="error" variant="contained" onClick={confirm}>
              {t("Delete")}
            </Button>
          </DialogActions>
        </Dialog>
      )}
    </>
  )
}

export const Holdup = ({ object }: { readonly object: unknown }) => {
  const { t, say } = useWords()
  const holdup = holdupOf(object)
  if (holdup === undefined) return null
  return (
    <Alert severity="warning" id="holdup" sx={{ m: 2 }}>
      <AlertTitle>{t("It is being deleted since {{time}}.", { time: holdup.since })}</AlertTitle>
      <Typography variant="body2">{say(holdup.why)}</Typography>
      {holdup.message !== "" && <Typography variant="body2">{holdup.message}</Typography>}
      {holdup.out.map((words) => (
        <Typography key={words.text} variant="body2">
          {say(words)}
        </Typography>
      ))}
      {holdup.commands.map((command) => (
        <pre key={command}>{command}</pre>
      ))}
    </Alert>
  )
}
