// One field of the form: what kind of input it is, what may be chosen and what is said about it come from the schema.
import { Checkbox, FormControl, FormControlLabel, FormHelperText, TextField } from "@mui/material"
import { memo } from "react"
import type { Issue } from "../../logic/checks.ts"
import { fieldText, parseField } from "../../logic/form.ts"
import { type Json, type Path, pathText, type Schema } from "../../logic/schema.ts"
import { useWords } from "../../useWords.ts"

export interface FieldProps {
  readonly path: Path
  readonly schema: Schema
  readonly label: string
  readonly value: Json | undefined
  readonly issues: ReadonlyArray<Issue>
  readonly required?: boolean
  readonly locked?: boolean
  readonly multiple?: ReadonlyArray<string>
  readonly onValue: (path: Path, value: Json | undefined) => void
}

/** The description without what Markdown has for its own. */
const plain = (text: string | undefined): string => (text ?? "").replaceAll("`", "")

export const Field = memo(function Field({
  path,
  schema,
  label,
  value,
  issues,
  required = false,
  locked = false,
  multiple,
  onValue,
}: FieldProps) {
  const { t, say } = useWords()
  const id = pathText(path)
  const helpId = `${id}-help`
  const problems = issues.map(({ words }) => say(words)).join("; ")
  const description = t(plain(schema.description))
  const fixed = t("Fixed at creation.")
  const help = [
    problems === "" ? "" : `${problems}.`,
    // Where the schema itself says so, once is enough.
    locked && !description.includes(fixed) ? fixed : "",
    description,
  ]
    .filter((part) => part !== "")
    .join(" ")
  const bad = issues.length > 0
  if (schema.type === "boolean")
    return (
      <FormControl error={bad}>
        <FormControlLabel
          label={label}
          control={
            <Checkbox
              id={id}
              checked={value === true}
              inputProps={{ "aria-describedby": helpId, "aria-invalid": bad }}
              onChange={({ target }) => onValue(path, target.checked ? true : undefined)}
            />
          }
        />
        <FormHelperText id={helpId} role={bad ? "alert" : undefined}>
          {help}
        </FormHelperText>
      </FormControl>
    )
  const choices = schema.enum ?? multiple
  const text = fieldText(value)
  return (
    <TextField
      id={id}
      label={label}
      value={text}
      error={bad}
      required={required}
      disabled={locked}
      fullWidth
      size="small"
      margin="dense"
      select={choices !== undefined}
      helperText={help}
      FormHelperTextProps={{
        id: helpId,
        // What a locked field is for is still to be read.
        sx: { "&.Mui-disabled": { color: "text.secondary" } },
        ...(bad ? { role: "alert" } : {}),
      }}
      inputProps={{
        "aria-describedby": helpId,
        ...(choices === undefined ? { spellCheck: false, autoComplete: "off" } : {}),
        ...(schema.type === "integer" ? { inputMode: "numeric" } : {}),
      }}
      InputLabelProps={choices === undefined ? {} : { shrink: true }}
      SelectProps={{ native: choices !== undefined }}
      onChange={({ target }) => onValue(path, parseField(target.value, schema))}
    >
      {choices === undefined ? undefined : (
        <>
          {(!required || !choices.includes(text)) && (
            <option value={choices.includes(text) ? "" : text}>
              {text !== "" && !choices.includes(text)
                ? text
                : schema.default === undefined
                  ? t("Not set")
                  : t("Not set ({{value}})", { value: schema.default })}
            </option>
          )}
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </>
      )}
    </TextField>
  )
})
