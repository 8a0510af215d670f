// Of the operator as a whole. No label here is an instance.
import { any, type MetricRow } from "./Row.ts"

const outcome = ["succeeded", "failed", "cancelled"] as const
/** From a second to half a day. */
const long = [1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21_600, 43_200]

export const operatorRows = {
  platform_operator_info: {
    type: "gauge",
    scope: "operator",
    help: "Always 1, with the version of the operator",
    labels: { version: any },
  },
  platform_operator_sandbox_active: {
    type: "gauge",
    scope: "operator",
    help: "1 while programs of packages are kept to the files of their instance, 0 where the kernel cannot do it or --sandbox is false",
    labels: {},
  },
  platform_operator_time_to_ready_seconds: {
    type: "histogram",
    scope: "operator",
    help: "From the creation of an instance, or a change of its spec, until it is Ready with it",
    labels: { after: ["creation", "change"] },
    buckets: long,
  },
  platform_operator_deletion_duration_seconds: {
    type: "histogram",
    scope: "operator",
    help: "From the request to delete an instance until it is gone, by its deletion policy",
    labels: { policy: ["Delete", "Retain"] },
    buckets: long,
  },
  platform_operator_operation_duration_seconds: {
    type: "histogram",
    scope: "operator",
    help: "How long what runs beside passes takes, waiting for a permit included: installs and repairs by their reason, steps of the target, uninstalls; by outcome",
    labels: { operation: any, outcome },
    buckets: long,
  },
  platform_operator_queue_wait_seconds: {
    type: "histogram",
    scope: "operator",
    help: "How long installs and repairs wait for one of the --max-concurrent-installs permits",
    labels: {},
    buckets: [0.1, ...long],
  },
  platform_operator_install_permits: {
    type: "gauge",
    scope: "operator",
    help: "Installs and repairs that hold a permit, and that wait for one",
    labels: { state: ["holding", "waiting"] },
  },
  platform_operator_overdue_repairs: {
    type: "gauge",
    scope: "operator",
    help: "Instances whose repair is due and has not ended yet",
    labels: {},
  },
  platform_operator_restored_objects_total: {
    type: "counter",
    scope: "operator",
    help: "Objects inside instances that were missing or edited and have been set right",
    labels: {},
  },
  platform_operator_release_objects_repaired_total: {
    type: "counter",
    scope: "operator",
    help: "Objects of vCluster releases that were missing or edited and have been put back",
    labels: { what: ["missing", "edited"] },
  },
  platform_operator_locks_removed_total: {
    type: "counter",
    scope: "operator",
    help: "Locks on the state of instances that were removed because their holder had ended",
    labels: {},
  },
  platform_operator_helm_runs_total: {
    type: "counter",
    scope: "operator",
    help: "Runs of helm on vCluster releases, by operation and outcome",
    labels: { operation: ["install", "upgrade", "repair", "rollback", "uninstall"], outcome },
  },
  platform_operator_actor_restarts_total: {
    type: "counter",
    scope: "operator",
    help: "Instance actors that died of a defect and were started again",
    labels: {},
  },
  platform_operator_target_dns_lost_total: {
    type: "counter",
    scope: "operator",
    help: "Times the DNS inside a Ready instance was found dead",
    labels: {},
  },
  platform_operator_target_probe_failures_total: {
    type: "counter",
    scope: "operator",
    help: "Failed checks of instances' APIs, at most one a poll",
    labels: {},
  },
  platform_operator_watch_ends_total: {
    type: "counter",
    scope: "operator",
    help: "Watch connections that ended: closed by the server as agreed, idle, gone, broken or refused",
    labels: { resource: any, outcome: any },
  },
  platform_operator_watch_age_seconds: {
    type: "gauge",
    scope: "operator",
    help: "How long ago a watch of the host cluster had its last list, event or bookmark; since its start, before the first; none for a kind that the server does not have",
    labels: { watch: any },
  },
  platform_operator_volume_free_bytes: {
    type: "gauge",
    scope: "operator",
    help: "Free space of the volume a folder lies on, for the operator's user",
    labels: { volume: ["state", "tmp", "memory"] },
  },
  platform_operator_volume_size_bytes: {
    type: "gauge",
    scope: "operator",
    help: "Size of the volume a folder lies on",
    labels: { volume: ["state", "tmp", "memory"] },
  },
  platform_operator_store_bytes: {
    type: "gauge",
    scope: "operator",
    help: "What the fetched platform packages and plugins take in the state directory",
    labels: { store: ["packages", "plugins"] },
  },
  platform_operator_disk_measured_timestamp_seconds: {
    type: "gauge",
    scope: "operator",
    help: "When bytes and free space were last measured; a scrape measures nothing",
    labels: {},
  },
} as const satisfies Readonly<Record<string, MetricRow>>
