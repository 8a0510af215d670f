// `spec.platform.tenants`
import { Button } from "@mui/material"
import { memo, useCallback } from "react"
import type { Issue } from "../../logic/checks.ts"
import { addEntry, fieldText, removeEntry, renameTenant } from "../../logic/form.ts"
import { isList, isUnder, type Json, type Path, pathText, schemaAt, valueAt } from "../../logic/schema.ts"
import { useWords } from "../../useWords.ts"
import { Entry } from "./Entry.tsx"
import type { Editing, ListProps } from "./editing.ts"
import { Fields } from "./Fields.tsx"
import { Section } from "./Section.tsx"

const at: Path = ["spec", "platform", "tenants"]
const schema = schemaAt([...at, 0])
const NONE: ReadonlyArray<Issue> = []
const names = [
  "name",
  "deletionPolicy",
  "suspended",
  "runtime.replicas",
  "runtime.coreInstances",
  "resources.cpu",
  "resources.memory",
  "resources.workloads",
  "resources.backingServices",
  "resources.serviceBindings",
  "resources.apiKeys",
]

interface RowProps extends Editing {
  readonly index: number
  readonly value: Json
  readonly issues: ReadonlyArray<Issue>
  readonly open: boolean
  readonly onOpen: (index: number | undefined) => void
}

const Tenant = memo(function Tenant({
  index,
  value,
  issues,
  open,
  onOpen,
  onValue,
  onDraft,
  locked,
}: RowProps) {
  const { t } = useWords()
  const here: Path = [...at, index]
  const name = fieldText(valueAt(value, ["name"]))
  const change: Editing["onValue"] = useCallback(
    (path, next) => {
      if (path.at(-1) === "name") onDraft((draft) => renameTenant(draft, index, fieldText(next)))
      else onValue(path, next)
    },
    [index, onDraft, onValue],
  )
  return (
    <Entry
      id={pathText(here)}
      title={name === "" ? t("Tenant {{number}}", { number: index + 1 }) : name}
      summary={valueAt(value, ["suspended"]) === true ? t("suspended") : ""}
      problems={issues.length}
      open={open}
      onToggle={() => onOpen(open ? undefined : index)}
      onRemove={() => onDraft((draft) => removeEntry(draft, at, index))}
    >
      {() => (
        <Fields
          at={here}
          schema={schema}
          value={value}
          names={names}
          issues={issues}
          locked={locked}
          onValue={change}
        />
      )}
    </Entry>
  )
})

export const Tenants = memo(function Tenants({ value, issues, open, onOpen, ...editing }: ListProps) {
  const { t } = useWords()
  const tenants = isList(value) ? value : []
  return (
    <Section
      id="section-tenants"
      title={t("Tenants ({{count}})", { count: tenants.length })}
      action={
        <Button
          size="small"
          variant="outlined"
          onClick={() => {
            editing.onDraft((draft) => addEntry(draft, at, { name: "" }))
            onOpen(tenants.length)
          }}
        >
          {t("Add tenant")}
        </Button>
      }
    >
      <OwnIssues issues={issues} at={at} />
      <ul style={{ margin: 0, padding: 0 }}>
        {tenants.map((tenant, index) => {
          const about = issues.filter(({ path }) => isUnder(path, [...at, index]))
          return (
            <Tenant
              key={index}
              index={index}
              value={tenant}
              issues={about.length === 0 ? NONE : about}
              open={open === index}
              onOpen={onOpen}
              {...editing}
            />
          )
        })}
      </ul>
    </Section>
  )
})

/** What is wrong with a list as a whole. */
export const OwnIssues = ({
  issues,
  at: place,
}: {
  readonly issues: ReadonlyArray<Issue>
  readonly at: Path
}) => {
  const { say } = useWords()
  const own = issues.filter(({ path }) => path.length === place.length && isUnder(path, place))
  return own.length === 0 ? null : (
    <p role="alert" style={{ color: "#d32f2f" }}>
      {own.map(({ words }) => say(words)).join("; ")}
    </p>
  )
}
