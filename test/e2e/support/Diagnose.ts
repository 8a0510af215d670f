// What to look at when something did not come: printed with the failure, because the cluster may be gone when somebody
// reads it.
import { operatorNamespace } from "./Cluster.ts"
import { kubectl } from "./Kubectl.ts"

const views: ReadonlyArray<ReadonlyArray<string>> = [
  ["get", "pi", "--all-namespaces", "-o", "yaml"],
  ["get", "pods", "--all-namespaces", "-o", "wide"],
  ["get", "events", "--all-namespaces", "--sort-by=.lastTimestamp"],
  ["logs", "--namespace", operatorNamespace, "deployment/platform-operator", "--tail=60"],
]

const lastLines = (text: string, count: number): string => text.trimEnd().split("\n").slice(-count).join("\n")

export const diagnose = async (): Promise<string> => {
  const parts = await Promise.all(
    views.map(async (args) => {
      const shown = await kubectl(args).catch((error: unknown) => String(error))
      return `--- kubectl ${args.join(" ")}\n${lastLines(shown, 150)}`
    }),
  )
  return parts.join("\n")
}
