// A section that is a list: what adds an entry, what is wrong with the list as a whole, and an entry below the other.
import { Button } from "@mui/material"
import type { ReactNode } from "react"
import type { Issue } from "../../logic/checks.ts"
import { addEntry } from "../../logic/form.ts"
import { isList, isUnder, type Json, type JsonObject, type Path } from "../../logic/schema.ts"
import type { ListProps } from "./editing.ts"
import { OwnIssues } from "./OwnIssues.tsx"
import { Section } from "./Section.tsx"

/** The same object for every entry without an issue: such an entry is not drawn again. */
const NONE: ReadonlyArray<Issue> = []

interface Props extends Pick<ListProps, "value" | "issues" | "onDraft" | "onOpen"> {
  readonly id: string
  readonly title: (count: number) => string
  /** Where the list is. */
  readonly at: Path
  readonly addLabel: string
  /** What a new entry begins with; it is opened. */
  readonly fresh: JsonObject
  readonly entry: (value: Json, index: number, issues: ReadonlyArray<Issue>) => ReactNode
}

export const ListSection = ({
  id,
  title,
  at,
  addLabel,
  fresh,
  entry,
  value,
  issues,
  onDraft,
  onOpen,
}: Props) => {
  const entries = isList(value) ? value : []
  return (
    <Section
      id={id}
      title={title(entries.length)}
      action={
        <Button
          size="small"
          variant="outlined"
          onClick={() => {
            onDraft((draft) => addEntry(draft, at, fresh))
            onOpen(entries.length)
          }}
        >
          {addLabel}
        </Button>
      }
    >
      <OwnIssues issues={issues} at={at} />
      <ul style={{ margin: 0, padding: 0 }}>
        {entries.map((one, index) => {
          const about = issues.filter(({ path }) => isUnder(path, [...at, index]))
          return entry(one, index, about.length === 0 ? NONE : about)
        })}
      </ul>
    </Section>
  )
}
