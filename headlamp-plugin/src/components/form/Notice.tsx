// A message above the form, brought to the eye of whoever has just clicked at its end.
import { Alert } from "@mui/material"
import { type ReactNode, useEffect, useRef } from "react"

interface Props {
  readonly id: string
  readonly severity: "error" | "warning"
  readonly children: ReactNode
}

export const Notice = ({ id, severity, children }: Props) => {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    box.current?.scrollIntoView({ block: "center" })
    box.current?.focus()
  }, [])
  return (
    <Alert ref={box} id={id} severity={severity} role="alert" tabIndex={-1} sx={{ mb: 2 }}>
      {children}
    </Alert>
  )
}
