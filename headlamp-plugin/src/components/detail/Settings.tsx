// What is asked for and what is: the spec, and what the last install has applied.
import {
  DateLabel,
  NameValueTable,
  SectionBox,
  SimpleTable,
} from "@kinvolk/headlamp-plugin/lib/CommonComponents"
import { Link, Typography } from "@mui/material"
import { stringify } from "yaml"
import { fieldText } from "../../logic/form.ts"
import { isList, isObject, type Json, valueAt } from "../../logic/schema.ts"
import { statusOf } from "../../logic/status.ts"
import { useWords } from "../../useWords.ts"

interface Props {
  readonly object: unknown
}

const list = (value: Json | undefined): Array<Json> => (isList(value) ? [...value] : [])
const yaml = (value: unknown) => stringify(value ?? {}, { lineWidth: 0, aliasDuplicateObjects: false })

const membershipsOf = (user: Json): string =>
  list(valueAt(user, ["memberships"]))
    .map((one) => `${fieldText(valueAt(one, ["tenant"]))} (${fieldText(valueAt(one, ["role"]))})`)
    .join(", ")

/** Settings of a tenant but for its name, as `cpu: 500m`. */
const settingsOf = (tenant: Json): string =>
  isObject(tenant)
    ? Object.entries(tenant)
        .flatMap(
          ([key, value]): Array<[string, Json]> => (isObject(value) ? Object.entries(value) : [[key, value]]),
        )
        .filter(([key]) => key !== "name")
        .map(([key, value]) => `${key}: ${typeof value === "object" ? JSON.stringify(value) : value}`)
        .join(", ")
    : ""

export const Spec = ({ object }: Props) => {
  const { t } = useWords()
  const at = (...path: ReadonlyArray<string>) => valueAt(object, ["spec", ...path])
  const text = (...path: ReadonlyArray<string>) => fieldText(at(...path))
  const [tenants, users] = [list(at("platform", "tenants")), list(at("platform", "users"))]
  const notGiven = (value: string) => value === ""
  const row = (name: string, value: string) => ({ name, value, hide: notGiven(value) })
  return (
    <SectionBox title={t("Spec")}>
      <NameValueTable
        rows={[
          row(t("Platform version"), text("version")),
          row(t("Target"), text("target", "type")),
          row(t("Deletion policy"), text("deletionPolicy")),
          row(t("NetworkPolicy engine"), text("platform", "networkPolicyEngine")),
          row(t("Storage root"), text("platform", "storageRoot")),
          row(t("NodePort"), text("platform", "gateway", "httpNodePort")),
          row(t("Public base URL"), text("platform", "gateway", "httpEndpoint")),
          row(t("Issuer"), text("platform", "tenantAuth", "issuer")),
          row(t("tenant-auth image"), text("platform", "tenantAuth", "image")),
          row(t("Tenant host image"), text("platform", "tenantHostImage")),
          row(t("Pull policy"), text("platform", "tenantHostImagePullPolicy")),
        ]}
      />
      {tenants.length > 0 && (
        <>
          <Typography variant="h6" component="h3">
            {t("Tenants ({{count}})", { count: tenants.length })}
          </Typography>
          <SimpleTable
            data={tenants as Array<object>}
            columns={[
              { label: t("Name"), getter: (tenant: Json) => fieldText(valueAt(tenant, ["name"])) },
              { label: t("Settings"), getter: settingsOf },
            ]}
          />
        </>
      )}
      {users.length > 0 && (
        <>
          <Typography variant="h6" component="h3">
            {t("Users and memberships ({{count}})", { count: users.length })}
          </Typography>
          <SimpleTable
            data={users as Array<object>}
            columns={[
              { label: t("Name"), getter: (user: Json) => fieldText(valueAt(user, ["name"])) },
              { label: t("Memberships"), getter: membershipsOf },
              {
                label: t("Suspended"),
                getter: (user: Json) => (valueAt(user, ["suspended"]) === true ? t("yes") : ""),
              },
            ]}
          />
        </>
      )}
      <details>
        <summary>{t("All of it, as YAML")}</summary>
        <pre style={{ overflow: "auto" }}>{yaml(valueAt(object, ["spec"]))}</pre>
      </details>
    </SectionBox>
  )
}

export const Status = ({ object }: Props) => {
  const { t } = useWords()
  const { current, observedGeneration, endpoints, applied, lastRepair, target } = statusOf(object)
  const date = (value: string | undefined) => (value === undefined ? "" : <DateLabel date={value} />)
  const address = (value: string | undefined) =>
    value !== undefined && /^https?:\/\//.test(value) ? (
      <Link href={value} target="_blank" rel="noopener noreferrer">
        {value}
      </Link>
    ) : (
      (value ?? "")
    )
  const none = t("None yet")
  const resync = target.resyncing
    ? target.resyncStarted === undefined
      ? t("Running")
      : t("Running since {{time}}", { time: target.resyncStarted })
    : t("None is running")
  return (
    <SectionBox title={t("Status")}>
      <NameValueTable
        rows={[
          {
            name: t("Observed generation"),
            value:
              observedGeneration === undefined
                ? none
                : current
                  ? String(observedGeneration)
                  : t("{{generation}}: the newest spec is still to be applied", {
                      generation: observedGeneration,
                    }),
          },
          { name: t("Kubernetes endpoint"), value: endpoints.kubernetes ?? none },
          { name: t("HTTP endpoint"), value: address(endpoints.http), hide: endpoints.http === undefined },
          {
            name: t("Last install"),
            value:
              applied === undefined
                ? none
                : t("generation {{generation}} (tenants: {{tenants}}, users: {{users}})", {
                    generation: applied.generation ?? "?",
                    tenants: applied.tenants ?? "?",
                    users: applied.users ?? "?",
                  }),
          },
          { name: t("Applied issuer"), value: applied?.issuer, hide: applied?.issuer === undefined },
          {
            name: t("Applied tenant host image"),
            value: applied?.hostImage ?? t("the platform's own default"),
            hide: applied === undefined,
          },
          { name: t("Last repair"), value: date(lastRepair), hide: lastRepair === undefined },
          { name: t("Resync"), value: resync },
          {
            name: t("UID of service/vcluster"),
            value: target.serviceUid,
            hide: target.serviceUid === undefined,
          },
        ]}
      />
      <details>
        <summary>{t("All of it, as YAML")}</summary>
        <pre style={{ overflow: "auto" }}>{yaml(valueAt(object, ["status"]))}</pre>
      </details>
    </SectionBox>
  )
}
