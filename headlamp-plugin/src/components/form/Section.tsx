// A part of the form, with a heading that screen readers find.
import { Box, Paper, Typography } from "@mui/material"
import type { ReactNode } from "react"

interface Props {
  readonly id: string
  readonly title: string
  readonly intro?: string
  readonly action?: ReactNode
  readonly children: ReactNode
}

export const Section = ({ id, title, intro, action, children }: Props) => (
  <Paper component="section" variant="outlined" aria-labelledby={id} sx={{ p: 2, mb: 2 }}>
    <Box sx={{ display: "flex", alignItems: "center", justifyContent: "space-between", mb: 1 }}>
      <Typography id={id} component="h2" variant="h6">
        {title}
      </Typography>
      {action}
    </Box>
    {intro !== undefined && (
      <Typography variant="body2" color="text.secondary" sx={{ mb: 1 }}>
        {intro}
      </Typography>
    )}
    {children}
  </Paper>
)
