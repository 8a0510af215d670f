// Every span that is exported, and every attribute on one: what is not in here stays inside the process. The page
// docs/traces.md is generated from it.

export interface SpanRow {
  readonly what: string
  /** A request to another process. Default: work of the operator's own. */
  readonly client?: true
  /** A trace's first span, written when its outcome is known. */
  readonly root?: true
  /** Held back until something beneath it is worth telling; a pass that only looks is none. */
  readonly pass?: true
  /** It changed something: the pass around it is worth telling. */
  readonly changes?: true
  /** Left out of the trace of a repair, which looks at all there is and mostly finds it as it was. */
  readonly detail?: true
}

const request = { client: true } as const

const roots = {
  "Instance.change": {
    root: true,
    what: "A generation of an instance, its deletion included, from the first pass that sees it to its first outcome",
  },
  "Instance.repair": { root: true, what: "A periodic repair, or something of the target that is put back" },
  "Instance.resync": {
    root: true,
    what: "A resync, from the loss to the install that ends it",
  },
  "Instance.retry": { root: true, what: "What is tried again after an outcome that was a failure" },
} satisfies Record<string, SpanRow>

const passes = {
  "Instance.pass": { pass: true, what: "One look at an instance, and what follows from it" },
  "Instance.deletionPass": { pass: true, what: "The same, of one that is being deleted" },
  "Instance.observe": { what: "Reads what is there, in the caches and live where they are behind" },
  "Instance.plan": { what: "Decides what is next" },
  "Instance.act": { what: "Takes at most one step that changes the world, or starts one in the slot" },
  "Instance.report": { what: "Writes the status, where it differs" },
  "Deletion.observe": { what: "Reads live what is left of an instance" },
  "Deletion.step": { what: "One quick step of a deletion" },
  "Instance.addFinalizer": { changes: true, what: "Adds the finalizer" },
} satisfies Record<string, SpanRow>

const work = {
  "Target.step": { changes: true, what: "One quick step towards the target" },
  "Target.helm": { changes: true, what: "One step towards the target that is Helm's, or ends a predecessor" },
  "Target.probe": { detail: true, what: "Asks the vCluster's API whether it answers" },
  "Helm.install": { what: "Installs or upgrades the vCluster's release" },
  "Helm.rollback": { what: "Applies a stored revision of the release" },
  "Helm.reapply": { what: "Puts back what the newest deployed revision says" },
  "Helm.uninstall": { what: "Uninstalls the release" },
  "Deletion.uninstall": { changes: true, what: "Uninstalls the vCluster, in the slot" },
  "Install.run": { changes: true, what: "An install, repair or the reinstall of a resync, in the slot" },
  "Plan.run": { what: "A plan, in the slot: what an install would do" },
  "Install.prepare": { detail: true, what: "Client secret, storage root, package and tenant host image" },
  "Pulumi.fetch": { detail: true, what: "Package and plugin of a version, fetched or verified" },
  "Npm.install": { what: "npm installs the package" },
  "Pulumi.run": {
    detail: true,
    what: "One run on an instance's state: earlier holder, project, state, engine",
  },
  "Pulumi.preview": { detail: true, what: "One preview, on a copy of an instance's state" },
  "Pulumi.releases": { what: "Helm releases inside the instance, looked at and set right" },
  "pulumi.engine": {
    what: "The engine's process, from its start to its end; the engine's own spans are below it",
  },
  "pulumi.load package": { detail: true, what: "The runner loads the platform package" },
  "pulumi.select stack": { detail: true, what: "The runner selects or makes the stack" },
  "pulumi.set config": { detail: true, what: "The runner sets the stack's config" },
  "pulumi.refresh": { what: "The engine looks at what the state says is there" },
  "pulumi.up": { what: "The engine makes it as the program says" },
  "pulumi.preview": { what: "The engine says what it would make" },
  "pulumi.read outputs": { detail: true, what: "The runner reads the outputs" },
  "Process.runChild": { what: "A child process: helm, npm, or one that reads a package" },
} satisfies Record<string, SpanRow>

const requests = {
  "k8s.get": { ...request, detail: true, what: "Reads an object" },
  "k8s.list": { ...request, detail: true, what: "Lists objects" },
  "k8s.raw": { ...request, detail: true, what: "Reads a path such as `/readyz`" },
  "k8s.create": { ...request, changes: true, what: "Creates an object" },
  "k8s.dryRun": { ...request, detail: true, what: "Asks what an apply would change" },
  "k8s.apply": { ...request, changes: true, what: "Applies an object" },
  "k8s.patch": { ...request, changes: true, what: "Patches an object" },
  "k8s.delete": { ...request, changes: true, what: "Deletes an object" },
} satisfies Record<string, SpanRow>

const waits = {
  "Wait.turn": { what: "For a turn to start the vCluster (`--max-concurrent-targets`)" },
  "Wait.namespace": { what: "For an earlier host namespace, or the one being deleted, to be gone" },
  "Wait.controlPlane": { what: "For `statefulset/vcluster` to be ready" },
  "Wait.kubeconfig": { what: "For the vCluster to write its kubeconfig Secret" },
  "Wait.api": { what: "For the vCluster's API to answer" },
  "Wait.resync": { what: "For the old control plane to end and the new one to come up" },
  "Wait.installPermit": { what: "For a permit to run the engine (`--max-concurrent-installs`)" },
  "Wait.cleanup": { what: "For the cleanup Job to remove the storage root, or its pods to be gone" },
  "Wait.retry": { what: "For the pause between repairs that are undone each time" },
} satisfies Record<string, SpanRow>

export const spanTable = { ...roots, ...passes, ...work, ...requests, ...waits }
export type SpanName = keyof typeof spanTable
export type RootName = keyof typeof roots
export type WaitName = keyof typeof waits

const rows: Readonly<Record<string, SpanRow>> = spanTable
export const rowOf = (name: string): SpanRow | undefined =>
  Object.hasOwn(rows, name) ? rows[name] : undefined

export interface AttributeRow {
  readonly what: string
  readonly unit?: string
}

/** The semantic conventions' own names, and under `platforminstance.` ours. */
export const attributeTable = {
  "k8s.namespace.name": { what: "The namespace of the object that a request is about" },
  "http.request.method": { what: "The request's method" },
  "http.response.status_code": { what: "The answer's status" },
  "server.address": { what: "The API server's host and port" },
  "url.path": { what: "The path, of a raw read" },
  "process.executable.name": { what: "The child's program" },
  "process.pid": { what: "The child's process id" },
  "process.exit.code": { what: "What the child ended with" },
  "error.type": { what: "The reason of a failure: a condition's, the API's, or the error's name" },
  "platforminstance.namespace": { what: "The instance's namespace" },
  "platforminstance.name": { what: "The instance's name" },
  "platforminstance.uid": { what: "The instance's UID" },
  "platforminstance.generation": { what: "The generation that a trace is of" },
  "platforminstance.outcome": { what: "How a trace has ended: `Ready`, `Failed`, `Deleted` or `Superseded`" },
  "platforminstance.dropped": {
    what: "Spans left out because the trace had as many as it may",
    unit: "spans",
  },
  "platforminstance.decision": { what: "What a pass has decided to do" },
  "platforminstance.verdict": {
    what: "What a pass has found the target to be: its condition's reason, or `Ready`",
  },
  "platforminstance.step": { what: "Which step of the target or of a deletion" },
  "platforminstance.reason": { what: "Why an install runs, a reason of the condition `Installed`" },
  "platforminstance.version": { what: "The platform's version" },
  "platforminstance.resource": { what: "The plural and group of the kind that a request is about" },
  "platforminstance.object": { what: "The name of the object that a request is about" },
  "platforminstance.waiting_for": { what: "What is waited for, in the condition's words" },
  "platforminstance.restored.count": { what: "What a repair has set right", unit: "objects" },
  "platforminstance.restored.objects": { what: "Which objects those are, at most eight of them" },
  "platforminstance.interrupted": { what: "`true` on what was cancelled" },
  "platforminstance.engine": { what: "`true` on a span that the Pulumi engine or its provider has made" },
} satisfies Record<string, AttributeRow>
export type AttributeName = keyof typeof attributeTable

export const isAttribute = (name: string): name is AttributeName => Object.hasOwn(attributeTable, name)
export const isSpanName = (name: string): name is SpanName => Object.hasOwn(spanTable, name)
