// `spec.platform.tenantAuth`, which is there or not.
import { FormControlLabel, Switch } from "@mui/material"
import { memo, useCallback } from "react"
import { setValue } from "../../logic/form.ts"
import { schemaAt, valueAt } from "../../logic/schema.ts"
import { useWords } from "../../useWords.ts"
import type { SectionProps } from "./editing.ts"
import { Fields } from "./Fields.tsx"
import { Section } from "./Section.tsx"

const at = ["spec", "platform", "tenantAuth"]
const names = [
  "image",
  "issuer",
  "clientId",
  "clientSecretRef.name",
  "clientSecretRef.key",
  "consolePublicUrl",
  "controllerPublicUrl",
  "issuerUpstream",
  "issuerUpstreamPodPort",
  "issuerIp",
  "registry.component",
  "registry.publicUrl",
  "registry.limits.maxBodyBytes",
  "registry.limits.maxConcurrent",
  "registry.limits.uploadIdleTimeoutMs",
  "registry.limits.upstreamTimeoutMs",
]

export const TenantAuth = memo(function TenantAuth({ value, issues, ...editing }: SectionProps) {
  const { t } = useWords()
  const on = value !== undefined
  const { onDraft } = editing
  // An empty one stays until it is switched off: its fields do not vanish while somebody types.
  const onValue: SectionProps["onValue"] = useCallback(
    (path, next) =>
      onDraft((draft) => {
        const changed = setValue(draft, path, next)
        return valueAt(changed, at) === undefined ? setValue(changed, at, {}) : changed
      }),
    [onDraft],
  )
  return (
    <Section
      id="section-tenant-auth"
      title={t("Tenant auth")}
      intro={t(
        "In public URLs {tenant} stands for the tenant's name. The client secret is named, never typed: the operator reads it from a Secret in the instance's namespace.",
      )}
      action={
        <FormControlLabel
          label={t("Tenants have a console")}
          control={
            <Switch
              checked={on}
              onChange={({ target }) => editing.onValue(at, target.checked ? {} : undefined)}
            />
          }
        />
      }
    >
      {on && (
        <Fields
          at={at}
          schema={schemaAt(at)}
          value={value}
          names={names}
          issues={issues}
          locked={editing.locked}
          onValue={onValue}
        />
      )}
    </Section>
  )
})
