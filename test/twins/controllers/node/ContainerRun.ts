// One container of a pod: image, program, probes, restarts. After kubelet 1.35: the first restart comes at once, the
// next 10 s after the end, then 20, 40… up to 300; ten quiet minutes forget it.
import { Deferred, Effect } from "effect"
import type { KubeObject } from "../../../../src/services/Kubernetes/Kubernetes.ts"
import type { Recorder } from "../Recorder.ts"
import { type Container, timestamp } from "../Shapes.ts"
import type { Tasks } from "../Tasks.ts"
import type { Images } from "./Images.ts"
import type { ContainerRecord } from "./PodStatus.ts"
import type { ContainerContext, ContainerProgram, Exit, Health } from "./Program.ts"

const FIRST_BACKOFF = 10_000
const LONGEST_BACKOFF = 300_000
/** So long after a failed look the kubelet looks at a pod again, at the latest. */
const RESYNC = 60_000
const KILLED: Exit = { code: 137 }

export interface ContainerHost {
  readonly tasks: Tasks
  readonly images: Images
  readonly recorder: Recorder
  readonly newContainerId: () => string
  /** The pod, as it is now. */
  readonly pod: () => KubeObject
  /** Something of the record has changed. */
  readonly changed: () => void
  readonly context: (container: Container) => Omit<ContainerContext, "health" | "stopping" | "container">
}

export interface ContainerRun {
  readonly record: ContainerRecord
  /** Completes when it has ended for good. */
  readonly life: Effect.Effect<void>
  /** Asks it to end, and kills it after so many milliseconds. */
  readonly stop: (grace: number) => void
}

const backoffText = (millis: number): string => {
  const seconds = Math.round(millis / 1000)
  const minutes = Math.floor(seconds / 60)
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds % 60}s`
}

export const makeContainer = (
  host: ContainerHost,
  container: Container,
  restarts: "Always" | "OnFailure" | "Never",
  before: { readonly restarts: number },
): ContainerRun => {
  const { tasks, images, recorder, changed } = host
  const record: ContainerRecord = {
    name: container.name,
    image: container.image,
    state: { waiting: { reason: "ContainerCreating" } },
    last: undefined,
    restarts: before.restarts,
    started: false,
    ready: false,
    id: undefined,
  }
  const stopping = Deferred.makeUnsafe<void>()
  let stopped = false
  /** Ends the program that runs, with an exit code. */
  let kill: (exit: Exit) => void = () => undefined
  let backoff = 0
  let lastFailure = 0

  const wait = (reason: string, message?: string) => {
    record.state = { waiting: message === undefined ? { reason } : { reason, message } }
    changed()
  }

  /** Ends early when the container is asked to end. */
  const pause = (millis: number) => Effect.timeoutOption(Deferred.await(stopping), millis)

  const ensureImage = Effect.gen(function* () {
    const { image, imagePullPolicy } = container
    const always =
      imagePullPolicy === "Always" || (imagePullPolicy === undefined && /:latest$|\/[^:@]+$/.test(image))
    const warn = (message: string) => recorder.event(host.pod(), "Warning", "Failed", message)
    let failures = 0
    while (!stopped) {
      if (images.isPresent(image) && !always) {
        const note = `Container image "${image}" already present on machine and can be accessed by the pod`
        recorder.event(host.pod(), "Normal", "Pulled", note)
        return
      }
      if (imagePullPolicy === "Never") {
        warn(`Container image "${image}" is not present with pull policy of Never`)
        wait("ErrImageNeverPull", `Container image "${image}" is not present with pull policy of Never`)
        yield* pause(LONGEST_BACKOFF)
        continue
      }
      recorder.event(host.pod(), "Normal", "Pulling", `Pulling image "${image}"`)
      const [least, most] = images.pullTakes
      yield* pause(least + tasks.random() * (most - least))
      const failed = images.pull(image)
      if (failed === undefined) {
        recorder.event(host.pod(), "Normal", "Pulled", `Successfully pulled image "${image}"`)
        return
      }
      warn(`Failed to pull image "${image}": ${failed}`)
      warn("Error: ErrImagePull")
      wait("ErrImagePull", failed)
      yield* pause(2_000)
      recorder.event(host.pod(), "Normal", "BackOff", `Back-off pulling image "${image}"`)
      warn("Error: ImagePullBackOff")
      wait("ImagePullBackOff", `Back-off pulling image "${image}": ErrImagePull: ${failed}`)
      yield* pause(Math.min(FIRST_BACKOFF * 2 ** failures, LONGEST_BACKOFF))
      failures += 1
    }
  })

  /** Follows what probes would see, each at its own times. */
  const makeProbes = () => {
    const { readinessProbe, livenessProbe, startupProbe } = container
    const seconds = (value: number | undefined, other: number) => (value ?? other) * 1000
    let health: Health = { ready: false, alive: true }
    let timers: Array<() => void> = []
    const after = (millis: number, act: () => void) => {
      timers.push(tasks.after(millis, act))
    }
    /** The next time a probe of this period looks. */
    const tick = (period: number) => tasks.random() * period
    const setReady = (ready: boolean) => {
      if (record.ready === ready) return
      record.ready = ready
      changed()
    }
    const unhealthy = (probe: string) =>
      recorder.event(host.pod(), "Warning", "Unhealthy", `${probe} probe failed: HTTP probe failed`)
    const failLive = (probe: string) => {
      unhealthy(probe)
      recorder.event(
        host.pod(),
        "Normal",
        "Killing",
        `Container ${container.name} failed ${probe.toLowerCase()} probe, will be restarted`,
      )
      stop(30_000)
    }
    const follow = () => {
      for (const cancel of timers.splice(0)) cancel()
      if (!record.started) {
        const period = seconds(startupProbe?.periodSeconds, 10)
        if (health.ready) after(tick(period), begin)
        return
      }
      const period = seconds(readinessProbe?.periodSeconds, 10)
      if (readinessProbe !== undefined && health.ready !== record.ready) {
        const patience = health.ready ? 0 : ((readinessProbe.failureThreshold ?? 3) - 1) * period
        after(tick(period) + patience, () => {
          if (!health.ready) unhealthy("Readiness")
          setReady(health.ready)
        })
      }
      if (livenessProbe !== undefined && !health.alive) {
        const live = seconds(livenessProbe.periodSeconds, 10)
        after(tick(live) + ((livenessProbe.failureThreshold ?? 3) - 1) * live, () => failLive("Liveness"))
      }
    }
    const begin = () => {
      record.started = true
      if (readinessProbe === undefined) record.ready = true
      changed()
      follow()
    }
    const limit =
      startupProbe && (startupProbe.failureThreshold ?? 3) * seconds(startupProbe.periodSeconds, 10)
    const deadline =
      limit === undefined ? undefined : tasks.after(limit, () => !record.started && failLive("Startup"))
    if (startupProbe === undefined) begin()
    return {
      set: (now: Health) => {
        health = now
        follow()
      },
      end: () => {
        deadline?.()
        for (const cancel of timers.splice(0)) cancel()
        timers = []
      },
    }
  }

  /** Stops the program that runs; another one follows if the policy says so. */
  let askEnd: () => void = () => undefined
  const stop = (grace: number) => {
    askEnd()
    const run = kill
    tasks.after(grace, () => run(KILLED))
  }

  const runOnce = Effect.fnUntraced(function* (program: ContainerProgram) {
    const startedAt = timestamp(tasks.now())
    const asked = Deferred.makeUnsafe<void>()
    askEnd = () => Deferred.doneUnsafe(asked, Effect.void)
    const killed = Deferred.makeUnsafe<Exit>()
    kill = (exit) => Deferred.doneUnsafe(killed, Effect.succeed(exit))
    record.id = `containerd://${host.newContainerId()}`
    record.state = { running: { startedAt } }
    record.started = false
    record.ready = false
    const probes = makeProbes()
    changed()
    recorder.event(host.pod(), "Normal", "Created", "Container created")
    recorder.event(host.pod(), "Normal", "Started", "Container started")
    const context: ContainerContext = {
      ...host.context(container),
      container,
      health: probes.set,
      stopping: Deferred.await(asked),
    }
    if (stopped) askEnd()
    const exit = yield* Effect.raceFirst(program(context), Deferred.await(killed)).pipe(
      Effect.ensuring(Effect.sync(probes.end)),
    )
    return { exit, startedAt }
  })

  const end = ({ exit, startedAt }: { readonly exit: Exit; readonly startedAt: string }) => {
    record.ready = false
    record.started = false
    record.state = {
      terminated: {
        exitCode: exit.code,
        reason: exit.code === 0 ? "Completed" : "Error",
        ...(exit.code !== 0 && exit.log !== undefined ? { message: `${exit.log}\n` } : {}),
        startedAt,
        finishedAt: timestamp(tasks.now()),
        containerID: record.id ?? "",
      },
    }
    changed()
  }

  /**
   * Waits before a restart, up to half as long again. That the container waits is only told when the pod is looked at
   * meanwhile, which the kubelet does after 60 to 90 s: before, it is shown as terminated (seen on 1.35.4).
   */
  const holdBack = Effect.gen(function* () {
    const pod = host.pod()
    const name = `${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`
    const note = `Back-off restarting failed container ${container.name} in pod ${name}`
    recorder.event(pod, "Warning", "BackOff", note)
    const stretched = (millis: number) => millis * (1 + tasks.random() / 2)
    if (backoff <= RESYNC) {
      yield* pause(stretched(backoff))
      return
    }
    const looked = stretched(RESYNC)
    yield* pause(looked)
    if (stopped) return
    if ("terminated" in record.state) record.last = record.state
    const said = `back-off ${backoffText(backoff)} restarting failed container=${container.name} pod=${name}`
    wait("CrashLoopBackOff", said)
    yield* pause(stretched(Math.max(0, backoff - looked)))
  })

  const life = Effect.gen(function* () {
    while (true) {
      yield* ensureImage
      if (stopped) return
      // The sandbox has been made; the container's own start takes this long.
      yield* pause(100 + tasks.random() * 700)
      if (stopped) return
      const ended = yield* runOnce(images.programOf(container))
      end(ended)
      const again = restarts === "Always" || (restarts === "OnFailure" && ended.exit.code !== 0)
      if (stopped || !again) return
      if (tasks.now() - lastFailure > 2 * LONGEST_BACKOFF) backoff = 0
      lastFailure = tasks.now()
      if (backoff > 0) {
        yield* holdBack
        if (stopped) return
      }
      if ("terminated" in record.state) record.last = record.state
      backoff = backoff === 0 ? FIRST_BACKOFF : Math.min(backoff * 2, LONGEST_BACKOFF)
      record.restarts += 1
    }
  })

  return {
    record,
    life,
    stop: (grace) => {
      stopped = true
      Deferred.doneUnsafe(stopping, Effect.void)
      stop(grace)
    },
  }
}
