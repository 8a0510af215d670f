// Of the operator's own process, under the names Prometheus' and Node's clients give them.
import { any, type MetricRow } from "./Row.ts"

const process = { scope: "process", type: "gauge", labels: {} } as const

export const processRows = {
  process_cpu_seconds_total: {
    ...process,
    type: "counter",
    help: "User and system CPU time of the operator's process, without its children's",
  },
  process_resident_memory_bytes: { ...process, help: "Resident memory" },
  process_start_time_seconds: { ...process, help: "When the process was started, since the epoch" },
  process_open_fds: { ...process, help: "Open file descriptors" },
  process_max_fds: { ...process, help: "The most file descriptors that can be open" },
  nodejs_version_info: { ...process, help: "Always 1, with the version of Node", labels: { version: any } },
  nodejs_heap_size_total_bytes: { ...process, help: "Size of Node's heap" },
  nodejs_heap_size_used_bytes: { ...process, help: "How much of Node's heap is used" },
  nodejs_external_memory_bytes: { ...process, help: "Memory outside of the heap that objects on it hold" },
  nodejs_eventloop_lag_seconds: {
    ...process,
    help: "How late timers came in the mean since the scrape before",
  },
  nodejs_eventloop_lag_max_seconds: {
    ...process,
    help: "How late the latest timer came since the scrape before",
  },
} as const satisfies Readonly<Record<string, MetricRow>>
