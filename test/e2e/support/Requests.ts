// How much an operator has asked its API servers, by its own metrics.
import { operatorNamespace } from "./Cluster.ts"
import { kubectl } from "./Kubectl.ts"
import { type Incarnation, leader } from "./Operator.ts"
import { until, untilTrue } from "./Until.ts"

/** Requests since the process was started; `host` chooses those to one of the servers. */
export const requestsOf = async ({ pod }: Pick<Incarnation, "pod">, host?: string): Promise<number> => {
  const path = `/api/v1/namespaces/${operatorNamespace}/pods/${pod}:8080/proxy/metrics`
  const text = await kubectl(["get", "--raw", path])
  return text
    .split("\n")
    .filter((line) => line.startsWith("rest_client_requests_total{"))
    .filter((line) => host === undefined || line.includes(`host="${host}"`))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0)
}

/** Requests of one check of an instance's API that goes well. */
const aCheck = 3

/** From now on the operator that works has checked the APIs of its instances so many times in all. */
export const untilChecked = async (times: number): Promise<void> => {
  const working = await leader()
  const before = await until("its metrics answer", () => requestsOf(working, "vcluster"))
  await untilTrue(`${times} checks of targets`, async () => {
    return (await requestsOf(working, "vcluster")) >= before + times * aCheck
  })
}
