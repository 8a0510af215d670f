// The form of an instance, new or stored.
import { SectionBox } from "@kinvolk/headlamp-plugin/lib/CommonComponents"
import { Alert, Box, Button } from "@mui/material"
import { type FormEvent, type ReactNode, useEffect, useState } from "react"
import { stringify } from "yaml"
import type { Issue } from "../../logic/checks.ts"
import { type Draft, objectOf } from "../../logic/form.ts"
import { editPatch } from "../../logic/patch.ts"
import { isUnder, type JsonObject, type Path, pathText, valueAt } from "../../logic/schema.ts"
import { useWords } from "../../useWords.ts"
import { Gateway, General, TenantHosts } from "./General.tsx"
import { NamePlace } from "./NamePlace.tsx"
import { Preview } from "./Preview.tsx"
import { RefusalNotice } from "./RefusalNotice.tsx"
import { TenantAuth } from "./TenantAuth.tsx"
import { Tenants } from "./Tenants.tsx"
import { Users } from "./Users.tsx"
import { below, useForm, useIssues } from "./useForm.ts"

interface Props {
  readonly title: string
  readonly initial: Draft
  /** What is stored, when it is edited. */
  readonly base?: JsonObject
  readonly submitLabel: string
  readonly onSubmit: (draft: Draft) => Promise<void>
  readonly onCancel: () => void
  readonly notice?: (draft: Draft) => ReactNode
}

const platform: Path = ["spec", "platform"]
const tenantsAt = [...platform, "tenants"]
const usersAt = [...platform, "users"]
const tenantAuthAt = [...platform, "tenantAuth"]
const gatewayAt = [...platform, "gateway"]
const hostsAt: ReadonlyArray<Path> = [
  [...platform, "tenantHostImage"],
  [...platform, "tenantHostImagePullPolicy"],
]
const inTenants = below(tenantsAt)
const inUsers = below(usersAt)
const inTenantAuth = below(tenantAuthAt)
const inGateway = below(gatewayAt)
const inHosts = below(...hostsAt)
const inGeneral = (path: Path) =>
  ![inTenants, inUsers, inTenantAuth, inGateway, inHosts].some((is) => is(path))

/** The index that an issue is below, in a list. */
const indexIn = (list: Path, path: Path): number | undefined => {
  const index = isUnder(path, list) ? path[list.length] : undefined
  return typeof index === "number" ? index : undefined
}

export const InstanceForm = ({ title, initial, base, submitLabel, onSubmit, onCancel, notice }: Props) => {
  const { t, say } = useWords()
  const form = useForm(initial, base, onSubmit)
  const { draft, issues, onDraft, onValue, locked } = form
  const [tenant, openTenant] = useState<number>()
  const [user, openUser] = useState<number>()
  const [preview, setPreview] = useState<"yaml" | "patch">()
  const [goal, setGoal] = useState<Path>()

  // Only once the entry that it is in has been opened is the field there.
  useEffect(() => {
    if (goal === undefined) return
    for (let depth = goal.length; depth > 0; depth--) {
      const found = document.getElementById(pathText(goal.slice(0, depth)))
      if (found !== null) {
        found.focus()
        break
      }
    }
    setGoal(undefined)
  }, [goal])

  const goTo = ({ path }: Issue) => {
    const [t, u] = [indexIn(tenantsAt, path), indexIn(usersAt, path)]
    if (t !== undefined) openTenant(t)
    if (u !== undefined) openUser(u)
    setGoal(path)
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const wrong = await form.submit()
    if (wrong !== undefined) goTo(wrong)
  }

  const settings = valueAt(draft, platform)
  const of = (...path: Path) => valueAt(settings, path)
  const editing = { onDraft, onValue, locked }
  const generalIssues = useIssues(issues, inGeneral)
  const tenantIssues = useIssues(issues, inTenants)
  const userIssues = useIssues(issues, inUsers)
  const tenantAuthIssues = useIssues(issues, inTenantAuth)
  const gatewayIssues = useIssues(issues, inGateway)
  const hostIssues = useIssues(issues, inHosts)

  return (
    <SectionBox title={title}>
      <Box component="form" noValidate onSubmit={submit} aria-label={title} sx={{ p: 1 }}>
        {notice?.(draft)}
        {form.refusal !== undefined && <RefusalNotice refusal={form.refusal} />}
        {form.asked && issues.length > 0 && (
          <Alert severity="error" id="problems" sx={{ mb: 2 }}>
            {t("{{count}} to correct before it can be sent:", { count: issues.length })}
            <ul style={{ margin: 0 }}>
              {issues.slice(0, 10).map((issue, i) => (
                <li key={i}>
                  <Button
                    size="small"
                    color="inherit"
                    sx={{ textTransform: "none", textAlign: "left", p: 0, minHeight: 24 }}
                    onClick={() => goTo(issue)}
                  >
                    {`${pathText(issue.path)}: ${say(issue.words)}`}
                  </Button>
                </li>
              ))}
            </ul>
          </Alert>
        )}
        <General value={valueAt(draft, ["spec"])} platform={settings} issues={generalIssues} {...editing}>
          {base === undefined && (
            <NamePlace value={valueAt(draft, ["metadata"])} issues={generalIssues} onValue={onValue} />
          )}
        </General>
        <Gateway value={of("gateway")} issues={gatewayIssues} {...editing} />
        <Tenants value={of("tenants")} issues={tenantIssues} open={tenant} onOpen={openTenant} {...editing} />
        <Users
          value={of("users")}
          tenants={of("tenants")}
          issues={userIssues}
          open={user}
          onOpen={openUser}
          {...editing}
        />
        <TenantAuth value={of("tenantAuth")} issues={tenantAuthIssues} {...editing} />
        <TenantHosts
          image={of("tenantHostImage")}
          pullPolicy={of("tenantHostImagePullPolicy")}
          issues={hostIssues}
          {...editing}
        />
        <Box sx={{ display: "flex", gap: 1, justifyContent: "flex-end", flexWrap: "wrap" }}>
          <Button onClick={onCancel}>{t("Cancel")}</Button>
          <Button onClick={() => setPreview("yaml")}>{t("Show YAML")}</Button>
          {base !== undefined && <Button onClick={() => setPreview("patch")}>{t("Show patch")}</Button>}
          <Button type="submit" variant="contained" disabled={form.sending}>
            {form.sending ? t("Sending…") : submitLabel}
          </Button>
        </Box>
      </Box>
      {preview === "yaml" && (
        <Preview
          title={base === undefined ? t("This object will be created") : t("The object as it will be")}
          text={stringify(objectOf(draft), { lineWidth: 0, aliasDuplicateObjects: false })}
          onClose={() => setPreview(undefined)}
        />
      )}
      {preview === "patch" && base !== undefined && (
        <Preview
          title={t("This JSON Patch will be sent")}
          text={JSON.stringify(editPatch(base, objectOf(draft)), null, 2)}
          onClose={() => setPreview(undefined)}
        />
      )}
    </SectionBox>
  )
}
