// What will be sent, word for word.
import { Box, Button, Dialog, DialogActions, DialogContent, DialogTitle } from "@mui/material"
import { useWords } from "../../useWords.ts"

interface Props {
  readonly title: string
  readonly text: string
  readonly onClose: () => void
}

export const Preview = ({ title, text, onClose }: Props) => {
  const { t } = useWords()
  return (
    <Dialog open onClose={onClose} maxWidth="md" fullWidth aria-labelledby="preview-title">
      <DialogTitle id="preview-title">{title}</DialogTitle>
      <DialogContent>
        <Box
          component="pre"
          id="preview"
          role="region"
          aria-label={title}
          tabIndex={0}
          sx={{ m: 0, overflow: "auto" }}
        >
          {text}
        </Box>
      </DialogContent>
      <DialogActions>
        <Button onClick={onClose}>{t("Close")}</Button>
      </DialogActions>
    </Dialog>
  )
}
