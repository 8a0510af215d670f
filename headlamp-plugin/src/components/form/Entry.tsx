// An entry of a list: one line while it is closed, its fields while it is open. A closed one costs next to nothing, so
// that a list of 128 does not slow down whoever types.
import { Box, Button, Typography } from "@mui/material"
import type { ReactNode } from "react"
import { useWords } from "../../useWords.ts"

interface Props {
  readonly id: string
  readonly title: string
  readonly summary: string
  readonly problems: number
  readonly open: boolean
  readonly onToggle: () => void
  readonly onRemove: () => void
  readonly children: () => ReactNode
}

export const Entry = ({ id, title, summary, problems, open, onToggle, onRemove, children }: Props) => {
  const { t } = useWords()
  const panel = `${id}-panel`
  return (
    <Box component="li" sx={{ listStyle: "none", borderTop: 1, borderColor: "divider", py: 0.5 }}>
      <Box sx={{ display: "flex", alignItems: "center", gap: 1 }}>
        <Button
          id={id}
          onClick={onToggle}
          aria-expanded={open}
          aria-controls={panel}
          size="small"
          sx={{ textTransform: "none", justifyContent: "flex-start", flexGrow: 1, textAlign: "left" }}
        >
          <strong>{title}</strong>
          <Typography component="span" variant="body2" color="text.secondary" sx={{ ml: 1 }}>
            {summary}
          </Typography>
          {problems > 0 && (
            <Typography component="span" variant="body2" color="error" sx={{ ml: 1 }}>
              {t("{{count}} to correct", { count: problems })}
            </Typography>
          )}
        </Button>
        <Button
          size="small"
          color="inherit"
          onClick={onRemove}
          aria-label={t("Remove {{name}}", { name: title })}
        >
          {t("Remove")}
        </Button>
      </Box>
      {open && (
        <Box id={panel} sx={{ pl: 2, pb: 2 }}>
          {children()}
        </Box>
      )}
    </Box>
  )
}
