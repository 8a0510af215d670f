// Name and namespace of a new instance.
import { K8s } from "@kinvolk/headlamp-plugin/lib"
import { Box, TextField } from "@mui/material"
import type { Issue } from "../../logic/checks.ts"
import { fieldText } from "../../logic/form.ts"
import { type Json, pathText, valueAt } from "../../logic/schema.ts"
import { useWords } from "../../useWords.ts"
import type { Editing } from "./editing.ts"

interface Props {
  readonly value: Json | undefined
  readonly issues: ReadonlyArray<Issue>
  readonly onValue: Editing["onValue"]
}

export const NamePlace = ({ value, issues, onValue }: Props) => {
  const { t, say } = useWords()
  // Who may not list namespaces types one.
  const [namespaces] = K8s.ResourceClasses.Namespace.useList()
  const field = (key: "name" | "namespace", label: string, list?: string) => {
    const path = ["metadata", key]
    const problems = issues
      .filter((issue) => pathText(issue.path) === pathText(path))
      .map(({ words }) => say(words))
    return (
      <TextField
        id={pathText(path)}
        label={label}
        value={fieldText(valueAt(value, [key]))}
        onChange={({ target }) => onValue(path, target.value)}
        error={problems.length > 0}
        helperText={problems.join("; ")}
        FormHelperTextProps={{
          id: `${pathText(path)}-help`,
          ...(problems.length > 0 ? { role: "alert" } : {}),
        }}
        inputProps={{
          "aria-describedby": `${pathText(path)}-help`,
          spellCheck: false,
          autoComplete: "off",
          ...(list === undefined ? {} : { list }),
        }}
        required
        fullWidth
        size="small"
        margin="dense"
      />
    )
  }
  return (
    <Box sx={{ display: "grid", gap: 2, gridTemplateColumns: "repeat(auto-fit, minmax(18rem, 1fr))" }}>
      {field("name", t("Name"))}
      {field("namespace", t("Namespace"), "namespaces")}
      <datalist id="namespaces">
        {(namespaces ?? []).map((namespace) => (
          <option key={namespace.metadata.name} value={namespace.metadata.name} />
        ))}
      </datalist>
    </Box>
  )
}
