// `spec.platform.tenants`
import { memo, useCallback } from "react"
import type { Issue } from "../../logic/checks.ts"
import { fieldText, removeEntry, renameTenant } from "../../logic/form.ts"
import { type Json, type Path, pathText, schemaAt, valueAt } from "../../logic/schema.ts"
import { useWords } from "../../useWords.ts"
import { Entry } from "./Entry.tsx"
import type { Editing, ListProps } from "./editing.ts"
import { Fields } from "./Fields.tsx"
import { ListSection } from "./ListSection.tsx"

const at: Path = ["spec", "platform", "tenants"]
const schema = schemaAt([...at, 0])
const fresh = { name: "" }
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
  return (
    <ListSection
      id="section-tenants"
      title={(count) => t("Tenants ({{count}})", { count })}
      at={at}
      addLabel={t("Add tenant")}
      fresh={fresh}
      value={value}
      issues={issues}
      onDraft={editing.onDraft}
      onOpen={onOpen}
      entry={(tenant, index, about) => (
        <Tenant
          key={index}
          index={index}
          value={tenant}
          issues={about}
          open={open === index}
          onOpen={onOpen}
          {...editing}
        />
      )}
    />
  )
})
