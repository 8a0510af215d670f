// kubectl as a child: the one way in which this program reaches a cluster.
import { Context, Data, Effect, Fiber, Layer, Redacted, Schema, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"

/** Says what went wrong and what to do; `exitCode` is what the program ends with. */
export class PiError extends Data.TaggedError("PiError")<{
  readonly message: string
  /** 1: it could not be done. 2: it was asked for in a wrong way. 3: `--exit-code`, and not Ready. */
  readonly exitCode: 1 | 2 | 3
}> {}

export const cannot = (message: string): PiError => new PiError({ message, exitCode: 1 })
export const misused = (message: string): PiError => new PiError({ message, exitCode: 2 })

/** Which cluster and namespace, and as whom, as kubectl takes it. */
export interface Where {
  readonly context?: string
  readonly kubeconfig?: string
  readonly namespace?: string
  /** Whom to act for. */
  readonly as?: string
  readonly asGroups?: ReadonlyArray<string>
}

/** As kubectl has its flags. */
export const whereArgs = ({
  context,
  kubeconfig,
  namespace,
  as,
  asGroups = [],
}: Where): ReadonlyArray<string> => [
  ...(kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`]),
  ...(context === undefined ? [] : [`--context=${context}`]),
  ...(namespace === undefined ? [] : [`--namespace=${namespace}`]),
  ...(as === undefined ? [] : [`--as=${as}`]),
  ...asGroups.map((group) => `--as-group=${group}`),
]

export class Kubectl extends Context.Service<
  Kubectl,
  {
    /** What it prints; its own words are the error. */
    readonly run: (where: Where, args: ReadonlyArray<string>) => Effect.Effect<string, PiError>
    /** The same, with a text on its standard input: what is secret goes that way. */
    readonly feed: (
      where: Where,
      args: ReadonlyArray<string>,
      input: Redacted.Redacted,
    ) => Effect.Effect<string, PiError>
    /** What `stream` gives, held at once; fails where it is more than can be. */
    readonly pipe: (
      where: Where,
      args: ReadonlyArray<string>,
      input: Stream.Stream<Uint8Array, PiError>,
    ) => Effect.Effect<Uint8Array, PiError>
    /** Bytes on its standard input and from its standard output, as they come, however many; what it is given is asked for as it is taken. */
    readonly stream: (
      where: Where,
      args: ReadonlyArray<string>,
      input: Stream.Stream<Uint8Array, PiError>,
    ) => Stream.Stream<Uint8Array, PiError>
    /** Line by line, until it ends. */
    readonly lines: (where: Where, args: ReadonlyArray<string>) => Stream.Stream<string, PiError>
  }
>()("kubectl-pi/Kubectl") {}

/** The most that is held of one thing at a time, in bytes. */
export const Largest = Context.Reference<number>("kubectl-pi/Largest", { defaultValue: () => 1024 ** 3 })

/** All of it, or a failure as soon as there is too much of it. `what` is for the message. */
export const gathered = Effect.fnUntraced(function* <E, R>(
  bytes: Stream.Stream<Uint8Array, E, R>,
  what: string,
  largest: number,
) {
  let size = 0
  const all = yield* bytes.pipe(
    Stream.tap((chunk) => {
      size += chunk.length
      return size > largest
        ? Effect.fail(
            cannot(
              `${what} is larger than ${Math.floor(largest / 1024 ** 2)} MiB, the most that kubectl pi takes: docs/day-two.md says what is left to do`,
            ),
          )
        : Effect.void
    }),
    Stream.runCollect,
  )
  return Buffer.concat(all)
})

const unreadable =
  /^stat .*: |^error loading config file |^invalid configuration: |couldn't get version\/kind/

/** RBAC's own words: admission refuses as Forbidden, too. */
const lacksRight = /\(Forbidden\).*User "[^"]*" cannot /s
const violatesPodSecurity = /\(Forbidden\).*violates PodSecurity/s

/** kubectl's first words are the error's kind; the way out follows from them and from where it was to look. */
export const explained = (stderr: string, { kubeconfig }: Where = {}): string => {
  const words = stderr
    .split("\n")
    // What its libraries log.
    .filter((line) => !/^[EWIF]\d{4} \d\d:/.test(line))
    .join("\n")
    .trim()
    .replace(/^error: /i, "")
  if (/doesn't have a resource type "?platforminstances/.test(words)) {
    return "this cluster has no PlatformInstances: install the operator's chart, or name another cluster with --context"
  }
  if (lacksRight.test(words)) {
    return `${words}\nAsk whoever runs the cluster for that right; docs/kubectl-pi.md lists what each command needs`
  }
  if (violatesPodSecurity.test(words)) {
    return `${words}\nThat is no missing right: the namespace does not admit such a pod. Its label pod-security.kubernetes.io/enforce=privileged does; docs/install.md says of which namespace the operator needs it`
  }
  if (/\(Forbidden\)/.test(words)) {
    return `${words}\nThat is no missing right: an admission check of the cluster, or a quota, refuses it as it is; whoever runs the cluster knows which`
  }
  if (/\(NotFound\)/.test(words)) {
    return `${words}\nkubectl get pi --all-namespaces lists what there is; -n names another namespace`
  }
  if (unreadable.test(words)) {
    return kubeconfig === undefined
      ? `the kubeconfig cannot be used: ${words}\nKUBECONFIG in the environment, or --kubeconfig, names another file`
      : `--kubeconfig ${kubeconfig} cannot be used: ${words}\nName another file, or leave it out: then kubectl's own kubeconfig is taken`
  }
  if (/connection to the server|Unable to connect|no such host|context .* does not exist/.test(words)) {
    return `${words}\n--context and --kubeconfig name another cluster`
  }
  return words === "" ? "kubectl failed without a word" : words
}

/** What comes out of a program in a pod, as it is told. */
export const whatOf = (args: ReadonlyArray<string>): string =>
  `what kubectl ${args
    .filter((arg) => !arg.startsWith("-"))
    .slice(0, 2)
    .join(" ")} gives`

const decodeText = <E>(pipe: Stream.Stream<Uint8Array, E>) => pipe.pipe(Stream.decodeText())

const make = (program: string) =>
  Effect.gen(function* () {
    const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
    const missing = () => cannot(`${program} cannot be run: install it, or put it in the PATH`)
    const spawn = (where: Where, args: ReadonlyArray<string>, stdin: ChildProcess.CommandInput) =>
      spawner
        .spawn(
          // Credential helpers need the whole environment, and some ask.
          ChildProcess.make(program, [...whereArgs(where), ...args], {
            extendEnv: true,
            stdin,
            // In a group of its own it could not read from the terminal.
            detached: false,
            forceKillAfter: "5 seconds",
          }),
        )
        .pipe(Effect.mapError(missing))
    const bytes = (
      where: Where,
      args: ReadonlyArray<string>,
      stdin: ChildProcess.CommandInput = "inherit",
    ): Stream.Stream<Uint8Array, PiError> =>
      Stream.unwrap(
        Effect.gen(function* () {
          const child = yield* spawn(where, args, stdin)
          let stderr = ""
          const heard = yield* decodeText(child.stderr).pipe(
            Stream.runForEach((text) =>
              Effect.sync(() => {
                stderr = (stderr + text).slice(-8192)
              }),
            ),
            Effect.ignore,
            Effect.forkScoped,
          )
          const ending = Effect.gen(function* () {
            const code = yield* Effect.orElseSucceed(child.exitCode, () => 1)
            yield* Fiber.await(heard)
            if (Number(code) !== 0) return yield* cannot(explained(stderr, where))
          })
          return child.stdout.pipe(
            Stream.mapError(missing),
            Stream.concat(Stream.drain(Stream.fromEffect(ending))),
          )
        }),
      )
    const stream = (
      where: Where,
      args: ReadonlyArray<string>,
      input: Stream.Stream<Uint8Array, PiError>,
    ): Stream.Stream<Uint8Array, PiError> =>
      Stream.suspend(() => {
        let failure: PiError | undefined
        // What it got is cut off then, and what it says of that is not what went wrong.
        const given = input.pipe(
          Stream.catch((error) => {
            failure = error
            return Stream.empty
          }),
        )
        const end = Effect.suspend(() => (failure === undefined ? Effect.void : Effect.fail(failure)))
        return bytes(where, args, given).pipe(
          Stream.mapError((error) => failure ?? error),
          Stream.concat(Stream.drain(Stream.fromEffect(end))),
        )
      })
    const lines = (where: Where, args: ReadonlyArray<string>, stdin?: ChildProcess.CommandInput) =>
      bytes(where, args, stdin).pipe(decodeText, Stream.splitLines)
    const whole = (all: Stream.Stream<string, PiError>) =>
      Effect.map(Stream.runCollect(all), (each) => each.join("\n"))
    return Kubectl.of({
      lines: (where, args) => lines(where, args),
      run: (where, args) => whole(lines(where, args)),
      stream,
      pipe: (where, args, input) =>
        Effect.flatMap(Largest, (largest) => gathered(stream(where, args, input), whatOf(args), largest)),
      feed: (where, args, input) =>
        whole(lines(where, args, Stream.make(new TextEncoder().encode(Redacted.value(input))))),
    })
  })

export const kubectlLayer = (program = "kubectl") => Layer.effect(Kubectl, make(program))

/** An object as JSON, decoded. */
export const getJson = Effect.fnUntraced(function* <A>(
  schema: Schema.Codec<A, unknown>,
  where: Where,
  args: ReadonlyArray<string>,
) {
  const kubectl = yield* Kubectl
  const text = yield* kubectl.run(where, ["get", ...args, "--output=json"])
  return yield* Schema.decodeEffect(Schema.fromJsonString(schema))(text).pipe(
    Effect.mapError((error) =>
      cannot(
        `kubectl get ${args.join(" ")} gave something that is not understood here (${error.message.replaceAll(/\s+/g, " ")}); use the kubectl-pi of the operator's release`,
      ),
    ),
  )
})
