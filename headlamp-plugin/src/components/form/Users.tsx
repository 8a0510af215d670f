// `spec.platform.users` and their memberships.
import { Box, Button } from "@mui/material"
import { memo, useMemo } from "react"
import type { Issue } from "../../logic/checks.ts"
import { addEntry, fieldText, removeEntry } from "../../logic/form.ts"
import { isList, isUnder, type Json, type Path, pathText, schemaAt, valueAt } from "../../logic/schema.ts"
import { useWords } from "../../useWords.ts"
import { Entry } from "./Entry.tsx"
import type { Editing, ListProps } from "./editing.ts"
import { Field } from "./Field.tsx"
import { Fields } from "./Fields.tsx"
import { ListSection } from "./ListSection.tsx"
import { OwnIssues } from "./OwnIssues.tsx"

const at: Path = ["spec", "platform", "users"]
const schema = schemaAt([...at, 0])
const membership = schemaAt([...at, 0, "memberships", 0])
const fresh = { name: "", memberships: [] }
const names = ["name", "suspended"]

interface RowProps extends Editing {
  readonly index: number
  readonly value: Json
  readonly issues: ReadonlyArray<Issue>
  /** Names of tenants, for an open entry alone. */
  readonly tenants: ReadonlyArray<string> | undefined
  readonly onOpen: (index: number | undefined) => void
}

const Memberships = ({ index, value, issues, tenants = [], onValue, onDraft }: RowProps) => {
  const { t } = useWords()
  const list: Path = [...at, index, "memberships"]
  const memberships = valueAt(value, ["memberships"])
  const held = isList(memberships) ? memberships : []
  const [tenant, role] = [membership?.properties?.tenant, membership?.properties?.role]
  if (tenant === undefined || role === undefined) return null
  const about = (path: Path) =>
    issues.filter((issue) => issue.path.length === path.length && isUnder(issue.path, path))
  const used = new Set(held.map((one) => valueAt(one, ["tenant"])))
  return (
    <Box role="group" aria-label={t("Memberships")} sx={{ mt: 1 }}>
      <OwnIssues issues={issues} at={list} />
      {held.map((one, m) => {
        const here: Path = [...list, m]
        // What is wrong with a membership is its tenant.
        const wrong = [...about([...here, "tenant"]), ...about(here)]
        return (
          <Box key={m} sx={{ display: "flex", gap: 2, alignItems: "flex-start" }}>
            <Field
              path={[...here, "tenant"]}
              schema={tenant}
              label={t("Tenant")}
              value={valueAt(one, ["tenant"])}
              issues={wrong}
              required
              multiple={tenants}
              onValue={onValue}
            />
            <Field
              path={[...here, "role"]}
              schema={role}
              label={t("Role")}
              value={valueAt(one, ["role"])}
              issues={about([...here, "role"])}
              required
              onValue={onValue}
            />
            <Button
              size="small"
              color="inherit"
              sx={{ mt: 1 }}
              aria-label={t("Remove membership in {{name}}", { name: fieldText(valueAt(one, ["tenant"])) })}
              onClick={() => onDraft((draft) => removeEntry(draft, list, m))}
            >
              {t("Remove")}
            </Button>
          </Box>
        )
      })}
      <Button
        size="small"
        onClick={() =>
          onDraft((draft) =>
            addEntry(draft, list, {
              tenant: tenants.find((name) => !used.has(name)) ?? "",
              role: role.enum?.at(-1) ?? "",
            }),
          )
        }
      >
        {t("Add membership")}
      </Button>
    </Box>
  )
}

const User = memo(function User(props: RowProps) {
  const { index, value, issues, tenants, onOpen, onValue, onDraft, locked } = props
  const { t } = useWords()
  const here: Path = [...at, index]
  const name = fieldText(valueAt(value, ["name"]))
  const memberships = valueAt(value, ["memberships"])
  const open = tenants !== undefined
  return (
    <Entry
      id={pathText(here)}
      title={name === "" ? t("User {{number}}", { number: index + 1 }) : name}
      summary={t("Memberships: {{count}}", { count: isList(memberships) ? memberships.length : 0 })}
      problems={issues.length}
      open={open}
      onToggle={() => onOpen(open ? undefined : index)}
      onRemove={() => onDraft((draft) => removeEntry(draft, at, index))}
    >
      {() => (
        <>
          <Fields
            at={here}
            schema={schema}
            value={value}
            names={names}
            issues={issues}
            locked={locked}
            onValue={onValue}
          />
          <Memberships {...props} />
        </>
      )}
    </Entry>
  )
})

interface Props extends ListProps {
  readonly tenants: Json | undefined
}

export const Users = memo(function Users({ value, tenants, issues, open, onOpen, ...editing }: Props) {
  const { t } = useWords()
  const tenantNames = useMemo(
    () =>
      isList(tenants)
        ? tenants.map((tenant) => fieldText(valueAt(tenant, ["name"]))).filter((name) => name !== "")
        : [],
    [tenants],
  )
  return (
    <ListSection
      id="section-users"
      title={(count) => t("Users and memberships ({{count}})", { count })}
      at={at}
      addLabel={t("Add user")}
      fresh={fresh}
      value={value}
      issues={issues}
      onDraft={editing.onDraft}
      onOpen={onOpen}
      entry={(user, index, about) => (
        <User
          key={index}
          index={index}
          value={user}
          issues={about}
          tenants={open === index ? tenantNames : undefined}
          onOpen={onOpen}
          {...editing}
        />
      )}
    />
  )
})
