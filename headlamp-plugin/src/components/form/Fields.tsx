// Several fields of one object, side by side.
import { Box } from "@mui/material"
import { useMemo } from "react"
import type { Issue } from "../../logic/checks.ts"
import { isUnder, type Json, own, type Path, pathText, type Schema, valueAt } from "../../logic/schema.ts"
import { useWords } from "../../useWords.ts"
import { Field } from "./Field.tsx"
import { labelsOf } from "./labels.ts"

const NONE: ReadonlyArray<Issue> = []

interface Props {
  /** Where the object is, and its schema. */
  readonly at: Path
  readonly schema: Schema | undefined
  readonly value: Json | undefined
  /** Of the object's fields, in this order: `name`, `runtime.replicas`. */
  readonly names: ReadonlyArray<string>
  readonly issues: ReadonlyArray<Issue>
  readonly locked?: (path: Path) => boolean
  readonly onValue: (path: Path, value: Json | undefined) => void
}

const schemaOf = (schema: Schema | undefined, path: Path): Schema | undefined =>
  path.reduce<Schema | undefined>((node, key) => own(node?.properties, String(key)), schema)

export const Fields = ({ at, schema, value, names, issues, locked, onValue }: Props) => {
  const { t } = useWords()
  const labels = useMemo(() => labelsOf(t), [t])
  const paths = useMemo(
    () =>
      new Map(
        names.map((name) => {
          const below = name.split(".")
          const parent = schemaOf(schema, below.slice(0, -1))
          const path: Path = [...at, ...below]
          return [
            name,
            {
              path,
              below,
              schema: schemaOf(schema, below),
              required: parent?.required?.includes(below.at(-1) ?? "") ?? false,
            },
          ]
        }),
      ),
    // A path is the same when it reads the same.
    [pathText(at), names, schema],
  )
  return (
    <Box
      sx={{
        display: "grid",
        gap: 1,
        columnGap: 2,
        gridTemplateColumns: "repeat(auto-fit, minmax(18rem, 1fr))",
      }}
    >
      {names.map((name) => {
        const found = paths.get(name)
        if (found?.schema === undefined) return null
        const about = issues.filter(({ path }) => isAbout(path, found.path))
        return (
          <Field
            key={name}
            path={found.path}
            schema={found.schema}
            label={labels[name] ?? name}
            value={valueAt(value, found.below)}
            issues={about.length === 0 ? NONE : about}
            // A part of an object that need not be there is not required either.
            required={found.required && found.below.length === 1}
            locked={locked?.(found.path) ?? false}
            onValue={onValue}
          />
        )
      })}
    </Box>
  )
}

/** An issue of a whole object stands at its first field that is shown: `clientSecretRef` at `clientSecretRef.name`. */
const isAbout = (issue: Path, field: Path): boolean =>
  isUnder(issue, field) ||
  (issue.length === field.length - 1 && issue.length > 3 && isUnder(field, issue) && field.at(-1) === "name")
