// The page in Headlamp's theme, with colours that can be read on it: in its dark themes the red of an error stands on
// dark grey at 2.3 to 1, and text in an alert that warns is all but transparent.
import { type Theme, ThemeProvider } from "@mui/material"
import type { ReactNode } from "react"

/** Text in these colours is at least 4.5 to 1 (WCAG 2.2, 1.4.3) on the backgrounds of Headlamp's own themes. */
const readable = (theme: Theme): Theme => {
  const { error, warning, mode, getContrastText } = theme.palette
  if (mode !== "dark") return theme
  const [red, orange] = ["#ef9a9a", "#ffcc80"]
  return {
    ...theme,
    palette: {
      ...theme.palette,
      error: { ...error, main: red, light: red, dark: red, contrastText: getContrastText(red) },
      warning: { ...warning, main: orange, light: orange, contrastText: getContrastText(orange) },
    },
  }
}

export const Readable = ({ children }: { readonly children: ReactNode }) => (
  <ThemeProvider theme={readable}>{children}</ThemeProvider>
)
