// What the chart ships for Prometheus and Grafana: rules and a dashboard over metrics that exist, and a page that says what to
// do.
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { metricRows } from "../../../src/services/Metrics/Table.ts"
import { find, pick, type Rendered, render, renderFailure } from "../helm.ts"

const chart = "charts/platform-operator"
const digest = `sha256:${"0123456789abcdef".repeat(4)}`
const rendered = (metrics: object = {}) =>
  render(chart, { values: { image: { digest }, passphrase: { existingSecret: "mine" }, metrics } })
const has = (objects: ReadonlyArray<Rendered>, kind: string) => objects.some((object) => object.kind === kind)

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}
const rulesOf = (objects: ReadonlyArray<Rendered>): ReadonlyArray<Rule> => {
  const groups = pick(find(objects, "PrometheusRule"), "spec", "groups")
  return JSON.parse(JSON.stringify(groups)).flatMap(
    ({ rules }: { readonly rules: ReadonlyArray<Rule> }) => rules,
  )
}

/** Every series that can be asked for; a histogram is three. */
const known = new Set(
  metricRows.flatMap(([name, { type }]) =>
    type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  ),
)
const prefixes =
  /\b(?:platform_operator|platforminstance|controller_runtime|workqueue|rest_client|leader_election|process|nodejs)_\w+/g
/** Names of series in an expression that nobody serves. */
const unknownIn = (expr: string): ReadonlyArray<string> =>
  (expr.match(prefixes) ?? []).filter((name) => !known.has(name))

/** Labels in selectors and groupings that the metrics of an expression do not have. */
const foreignLabels = (expr: string): ReadonlyArray<string> => {
  const names = new Set(expr.match(prefixes) ?? [])
  const labels = new Set(
    metricRows
      .filter(([name]) => [...names].some((each) => each.startsWith(name)))
      .flatMap(([, row]) => Object.keys(row.labels)),
  )
  // Of the target, and of buckets.
  for (const each of ["job", "pod", "le"]) labels.add(each)
  const used = [
    ...[...expr.matchAll(/(\w+)(?:=~|!=|!~|=)"/g)].map(([, label = ""]) => label),
    ...[...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) =>
      list.split(",").map((it) => it.trim()),
    ),
  ]
  return used.filter((label) => !labels.has(label))
}

describe("the alerts", () => {
  const rules = rulesOf(rendered({ prometheusRule: { enabled: true } }))

  it("are there on request, at least twelve", () => {
    expect(has(rendered(), "PrometheusRule")).toBe(false)
    expect(rules.length).toBeGreaterThanOrEqual(12)
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
  })

  it("are labelled for the Prometheus that is to load them, and each can be left out", () => {
    const objects = rendered({
      prometheusRule: {
        enabled: true,
        labels: { release: "prometheus" },
        disabled: ["PlatformInstanceNotReady"],
      },
    })
    expect(find(objects, "PrometheusRule").metadata.labels).toMatchObject({ release: "prometheus" })
    const left = rulesOf(objects).map(({ alert }) => alert)
    expect(left).toEqual(
      rules.map(({ alert }) => alert).filter((alert) => alert !== "PlatformInstanceNotReady"),
    )
  })

  it.each(rules.map((rule) => [rule.alert, rule] as const))(
    "%s looks at metrics and labels that exist",
    (_, { expr }) => {
      expect(expr.match(prefixes)).not.toBeNull()
      expect(unknownIn(expr)).toEqual([])
      expect(foreignLabels(expr)).toEqual([])
    },
  )

  it.each(rules.map((rule) => [rule.alert, rule] as const))(
    "%s says what is wrong, how bad it is, and where it stands what to do",
    (alert, { annotations, labels }) => {
      expect(annotations.summary).toMatch(/\S.*\.$/)
      expect(annotations.description).toMatch(/\S.*\.$/)
      expect(["critical", "warning"]).toContain(labels.severity)
      expect(annotations.runbook_url).toMatch(
        new RegExp(`^https://.*/docs/alerts\\.md#${alert.toLowerCase()}$`),
      )
      const section = readFileSync("docs/alerts.md", "utf8").split(`\n## ${alert}\n`)[1]?.split("\n## ")[0]
      // What to do, not only what it is.
      expect(section).toMatch(/\n1\. /)
    },
  )

  it("lead to a page of the user's", () => {
    const [first] = rulesOf(
      rendered({ prometheusRule: { enabled: true, runbookUrl: "https://wiki.example.com/operator" } }),
    )
    expect(first?.annotations.runbook_url).toBe("https://wiki.example.com/operator#platformoperatordown")
  })

  it("have no section that no alert leads to", () => {
    const sections = [...readFileSync("docs/alerts.md", "utf8").matchAll(/^## (\w+)$/gm)].map(
      ([, name]) => name,
    )
    expect(sections).toEqual(rules.map(({ alert }) => alert))
  })
})

describe("the dashboard", () => {
  const objects = rendered({ dashboard: { enabled: true, namespace: "monitoring" } })
  const text = String(
    pick(find(objects, "ConfigMap", "platform-operator-dashboard"), "data", "platform-operator.json"),
  )

  it("is a ConfigMap that Grafana's sidecar finds, on request", () => {
    expect(has(rendered(), "ConfigMap")).toBe(false)
    const { metadata } = find(objects, "ConfigMap", "platform-operator-dashboard")
    expect(metadata.labels).toMatchObject({ grafana_dashboard: "1" })
    expect(metadata.namespace).toBe("monitoring")
    expect(JSON.parse(text)).toMatchObject({ uid: "platform-operator", title: "Platform operator" })
  })

  const { panels } = JSON.parse(text)
  const targets: ReadonlyArray<readonly [string, string]> = panels.flatMap(
    ({
      title,
      targets = [],
    }: {
      readonly title: string
      readonly targets?: ReadonlyArray<{ readonly expr: string }>
    }) => targets.map(({ expr }) => [title, expr] as const),
  )

  it("shows something", () => {
    expect(targets.length).toBeGreaterThan(20)
  })

  it.each(targets)("%s asks for metrics and labels that exist: %s", (_, expr) => {
    expect(expr.match(prefixes)).not.toBeNull()
    expect(unknownIn(expr)).toEqual([])
    expect(foreignLabels(expr.replaceAll("$", ""))).toEqual([])
  })
})

describe("a value", () => {
  it.each([
    [
      "prometheusRule.disabled",
      { prometheusRule: { disabled: ["Watchdog"] } },
      "/metrics/prometheusRule/disabled/0",
    ],
    [
      "prometheusRule.runbookUrl",
      { prometheusRule: { runbookUrl: "docs/alerts.md" } },
      "/metrics/prometheusRule/runbookUrl",
    ],
    ["dashboard.labels", { dashboard: { labels: { a: "b c" } } }, "/metrics/dashboard/labels/a"],
  ])("that is wrong is refused by name: metrics.%s", (_, metrics, message) => {
    const values = { image: { digest }, passphrase: { existingSecret: "mine" }, metrics }
    expect(renderFailure(chart, { values })).toContain(message)
  })
})
