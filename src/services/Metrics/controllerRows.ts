// Under controller-runtime's names, so that dashboards made for it show this operator, too. Buckets are its own.
import { any, type MetricRow } from "./Row.ts"

/** The `controller` and `name` of every such series. */
export const controller = "platforminstance"

const own = { controller: [controller] } as const
const queue = { name: [controller], controller: [controller] } as const

const passBuckets = [
  ...[0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9],
  ...[1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60],
]
const queueBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000]

export const controllerRows = {
  controller_runtime_reconcile_total: {
    type: "counter",
    scope: "controller",
    help: "Passes over instances, by how they ended",
    labels: { ...own, result: ["success", "error", "requeue", "requeue_after"] },
  },
  controller_runtime_reconcile_errors_total: {
    type: "counter",
    scope: "controller",
    help: "Passes over instances that failed and are tried again",
    labels: own,
  },
  controller_runtime_reconcile_time_seconds: {
    type: "histogram",
    scope: "controller",
    help: "How long a pass over an instance takes; what runs beside passes is in platform_operator_operation_duration_seconds",
    labels: own,
    buckets: passBuckets,
  },
  controller_runtime_active_workers: {
    type: "gauge",
    scope: "controller",
    help: "Passes that are at work; each instance has a worker of its own, so that there is no greatest number",
    labels: own,
  },
  workqueue_depth: {
    type: "gauge",
    scope: "controller",
    help: "Instances that have been woken and wait for their pass",
    labels: queue,
  },
  workqueue_adds_total: {
    type: "counter",
    scope: "controller",
    help: "Times an instance that was not waiting has been woken",
    labels: queue,
  },
  workqueue_queue_duration_seconds: {
    type: "histogram",
    scope: "controller",
    help: "How long a woken instance waits for its pass",
    labels: queue,
    buckets: queueBuckets,
  },
  workqueue_work_duration_seconds: {
    type: "histogram",
    scope: "controller",
    help: "How long a pass over an instance takes",
    labels: queue,
    buckets: queueBuckets,
  },
  workqueue_retries_total: {
    type: "counter",
    scope: "controller",
    help: "Passes that are tried again after a failure",
    labels: queue,
  },
  workqueue_unfinished_work_seconds: {
    type: "gauge",
    scope: "controller",
    help: "How long all passes that are at work have taken so far, together",
    labels: queue,
  },
  workqueue_longest_running_processor_seconds: {
    type: "gauge",
    scope: "controller",
    help: "How long the oldest pass that is at work has taken so far",
    labels: queue,
  },
  rest_client_requests_total: {
    type: "counter",
    scope: "controller",
    help: "Requests to API servers, by status code, method and host; <error> is a request without an answer, and the host vcluster stands for those inside of instances",
    labels: { code: any, method: any, host: any },
  },
  leader_election_master_status: {
    type: "gauge",
    scope: "controller",
    help: "1 while this process holds the Lease of that name, 0 while it waits for it",
    labels: { name: any },
  },
} as const satisfies Readonly<Record<string, MetricRow>>
