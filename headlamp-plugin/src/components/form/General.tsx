// Name, version, target, deletion policy; gateway; tenant hosts.
import { memo, type ReactNode } from "react"
import { schemaAt } from "../../logic/schema.ts"
import { useWords } from "../../useWords.ts"
import type { SectionProps } from "./editing.ts"
import { Fields } from "./Fields.tsx"
import { Section } from "./Section.tsx"

const specNames = ["version", "target.type", "deletionPolicy"]
const platformNames = ["networkPolicyEngine", "storageRoot"]
const gatewayNames = ["httpNodePort", "httpEndpoint"]
const hostNames = ["tenantHostImage", "tenantHostImagePullPolicy"]

const spec = ["spec"]
const platform = ["spec", "platform"]
const gateway = ["spec", "platform", "gateway"]

interface GeneralProps extends SectionProps {
  readonly platform: SectionProps["value"]
  readonly children: ReactNode
}

export const General = ({ value, platform: settings, issues, children, ...editing }: GeneralProps) => {
  const { t } = useWords()
  return (
    <Section id="section-general" title={t("General")}>
      {children}
      <Fields
        at={spec}
        schema={schemaAt(spec)}
        value={value}
        names={specNames}
        issues={issues}
        {...editing}
      />
      <Fields
        at={platform}
        schema={schemaAt(platform)}
        value={settings}
        names={platformNames}
        issues={issues}
        {...editing}
      />
    </Section>
  )
}

export const Gateway = memo(function Gateway({ value, issues, ...editing }: SectionProps) {
  const { t } = useWords()
  return (
    <Section id="section-gateway" title={t("Gateway")}>
      <Fields
        at={gateway}
        schema={schemaAt(gateway)}
        value={value}
        names={gatewayNames}
        issues={issues}
        {...editing}
      />
    </Section>
  )
})

interface HostProps extends Omit<SectionProps, "value"> {
  readonly image: SectionProps["value"]
  readonly pullPolicy: SectionProps["value"]
}

export const TenantHosts = memo(function TenantHosts({ image, pullPolicy, issues, ...editing }: HostProps) {
  const { t } = useWords()
  const value = {
    ...(image === undefined ? {} : { tenantHostImage: image }),
    ...(pullPolicy === undefined ? {} : { tenantHostImagePullPolicy: pullPolicy }),
  }
  return (
    <Section id="section-tenant-hosts" title={t("Tenant hosts")}>
      <Fields
        at={platform}
        schema={schemaAt(platform)}
        value={value}
        names={hostNames}
        issues={issues}
        {...editing}
      />
    </Section>
  )
})
