// `kubectl pi kubeconfig`: the instance's admin kubeconfig, to a file of one's own, to standard output where that was asked
// for, or over a port of this machine for as long as the command runs.
import { Clock, Console, Effect, FileSystem, Option, Path, type PlatformError, Schema, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { parse, stringify } from "yaml"
import { hostNamespace, KUBECONFIG_KEY, kubeconfigSecretName } from "../schema/Names.ts"
import { conditionOf, getInstance } from "./Instance.ts"
import { cannot, getJson, Kubectl, misused, type PiError } from "./Kubectl.ts"
import { WHETHER_ONE_LEADS } from "./logs.ts"
import { hasLostKubeconfig, lostKubeconfig } from "./lostKubeconfig.ts"
import { instanceArgument, root, where } from "./root.ts"

const Secret = Schema.Struct({ data: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)) })

const Clusters = Schema.Struct({
  clusters: Schema.Array(
    Schema.Struct({ name: Schema.String, cluster: Schema.Record(Schema.String, Schema.Unknown) }),
  ),
})

const edited = cannot(
  "the instance's kubeconfig is none: its Secret was edited; the operator writes it again",
)

/** The same kubeconfig with another address in it; the vCluster's certificate names 127.0.0.1. */
export const withServer = (kubeconfig: string, server: string): Effect.Effect<string, PiError> =>
  Effect.try((): unknown => parse(kubeconfig)).pipe(
    Effect.flatMap((value) =>
      Effect.map(Schema.decodeUnknownEffect(Clusters)(value), ({ clusters }) =>
        stringify({
          ...Object(value),
          clusters: clusters.map((each) => ({ ...each, cluster: { ...each.cluster, server } })),
        }),
      ),
    ),
    Effect.mapError(() => edited),
  )

/** kubectl reads a kubeconfig in JSON, too. */
const printAsJson = (kubeconfig: string) =>
  Effect.try({ try: (): unknown => parse(kubeconfig), catch: () => edited }).pipe(
    Effect.flatMap((value) => Console.log(JSON.stringify(value, null, 2))),
  )

const readKubeconfig = Effect.fnUntraced(function* (name: string) {
  const found = yield* getInstance(yield* where, name)
  const { namespace } = found.instance.metadata
  const secret = found.instance.status?.kubeconfigSecretRef?.name
  if (secret === undefined) {
    if (hasLostKubeconfig(found.instance)) {
      return yield* cannot(lostKubeconfig(found.instance, yield* Clock.currentTimeMillis))
    }
    const target = conditionOf(found.instance, "TargetReady")
    return yield* cannot(
      target?.reason === "TargetError"
        ? `${namespace}/${name} has no kubeconfig yet: ${target.message ?? target.reason}`
        : `${namespace}/${name} has no kubeconfig yet: its control plane has to come up first; kubectl pi status ${name} -n ${namespace} says how far it is`,
    )
  }
  const { data } = yield* getJson(Secret, found.where, ["secrets", secret]).pipe(
    Effect.mapError((error) =>
      error.message.includes(`"${secret}" not found`)
        ? cannot(
            `Secret ${namespace}/${secret} is missing: the operator writes it again within a poll; where it does not, ${WHETHER_ONE_LEADS}`,
          )
        : error,
    ),
  )
  const encoded = data?.[KUBECONFIG_KEY]
  if (encoded === undefined) {
    return yield* cannot(
      `Secret ${namespace}/${kubeconfigSecretName({ namespace, name })} has no key ${KUBECONFIG_KEY}: somebody has edited it; the operator writes it again within a poll`,
    )
  }
  if (found.instance.metadata.deletionTimestamp !== undefined) {
    yield* Console.error(`${namespace}/${name} is being deleted: its API may be gone, or go at any time`)
  }
  return { ...found, text: Buffer.from(encoded, "base64").toString("utf8") }
})

/** Names the flag, its value and the way out. */
const cannotWrite = (file: string, folder: string, { reason }: PlatformError.PlatformError): PiError => {
  switch (reason._tag) {
    case "NotFound":
      return cannot(`--file ${file}: there is no folder ${folder}: make it, or name another file`)
    case "PermissionDenied":
      return cannot(`--file ${file}: nothing may be written in ${folder}: name another file`)
    default:
      return cannot(`--file ${file} cannot be written (${reason._tag}): name another file`)
  }
}

/**
 * 0600 from its first byte on; a file that is there already is replaced, whatever its mode was. What is no file, such as a
 * folder or /dev/stdout, stays as it is, and of a write that fails nothing is left. Gives what to say of a file that was
 * replaced.
 */
const writePrivate = Effect.fnUntraced(function* (file: string, text: string) {
  const fs = yield* FileSystem.FileSystem
  const { dirname } = yield* Path.Path
  const found = yield* Effect.option(fs.stat(file))
  if (Option.isSome(found) && found.value.type !== "File") {
    return yield* cannot(`--file ${file} is no file: name another one, or print it with --stdout`)
  }
  const temporary = `${file}.new`
  yield* fs.remove(temporary, { force: true }).pipe(
    Effect.andThen(fs.writeFileString(temporary, text, { flag: "wx", mode: 0o600 })),
    Effect.andThen(fs.rename(temporary, file)),
    Effect.onError(() => Effect.ignore(fs.remove(temporary, { force: true }))),
    Effect.mapError((error) => cannotWrite(file, dirname(file), error)),
  )
  return Option.isSome(found) ? ", in place of the file that was there" : ""
})

/** What kubectl says once it listens: `Forwarding from 127.0.0.1:41231 -> 8443`. */
export const forwardedPort = (line: string): Option.Option<number> =>
  Option.map(Option.fromNullishOr(/^Forwarding from 127\.0\.0\.1:(\d+) ->/.exec(line)?.[1]), Number)

const forward = Effect.fnUntraced(function* (name: string, port: number, file: Option.Option<string>) {
  const kubectl = yield* Kubectl
  const fs = yield* FileSystem.FileSystem
  const { output } = yield* root
  const found = yield* readKubeconfig(name)
  const { namespace } = found.instance.metadata
  const folder = yield* fs
    .makeTempDirectoryScoped({ prefix: "kubectl-pi-" })
    .pipe(Effect.mapError(() => cannot("there is no temporary folder: name a file with --file")))
  const path = Option.getOrElse(file, () => `${folder}/${name}.kubeconfig`)
  yield* kubectl
    .lines({ ...found.where, namespace: hostNamespace({ namespace, name }) }, [
      "port-forward",
      "--address=127.0.0.1",
      "service/vcluster",
      `${port === 0 ? "" : port}:443`,
    ])
    .pipe(
      Stream.runForEach((line) =>
        Option.match(forwardedPort(line), {
          onNone: () => Effect.void,
          onSome: (listening) =>
            Effect.gen(function* () {
              const server = `https://127.0.0.1:${listening}`
              const replaced = yield* writePrivate(path, yield* withServer(found.text, server))
              yield* Console.log(
                output === "json"
                  ? JSON.stringify({ kubeconfig: path, server })
                  : `export KUBECONFIG=${path}`,
              )
              if (replaced !== "") yield* Console.error(`${path}: its kubeconfig${replaced}`)
              yield* Console.error(`forwarding ${server} until interrupted (Ctrl-C)`)
            }),
        }),
      ),
    )
}, Effect.scoped)

export const kubeconfig = Command.make(
  "kubeconfig",
  {
    name: instanceArgument,
    file: Flag.String("file").pipe(
      Flag.withMetavar("FILE"),
      Flag.withDescription("Write it there, readable by its owner alone; a file that is there is replaced"),
      Flag.filter(
        (file) => file !== "",
        () => "Expected the name of a file",
      ),
      Flag.optional,
    ),
    stdout: Flag.Boolean("stdout").pipe(
      Flag.withDescription("Print it: whoever sees the output can do everything in the instance"),
      Flag.withDefault(false),
    ),
    portForward: Flag.Boolean("port-forward").pipe(
      Flag.withDescription(
        "Forward a port of this machine to the instance's API until interrupted, with a kubeconfig for it: in --file, or in a temporary one that goes with the command",
      ),
      Flag.withDefault(false),
    ),
    port: Flag.Int("port").pipe(
      Flag.withMetavar("PORT"),
      Flag.withDescription("That port; a free one when not set"),
      Flag.filter(
        (port) => port >= 0 && port < 65_536,
        (port) => `Expected a port from 0 to 65535, got ${port}`,
      ),
      Flag.withDefault(0),
    ),
  },
  Effect.fnUntraced(function* ({ name, file, stdout, portForward, port }) {
    if (portForward && stdout) {
      return yield* misused(
        "--stdout and --port-forward exclude one another: with a port goes a file, --file FILE or a temporary one",
      )
    }
    if (stdout && Option.isSome(file)) {
      return yield* misused(
        `--stdout and --file ${file.value} exclude one another: it is a secret, and goes to one place`,
      )
    }
    if (portForward) return yield* forward(name, port, file)
    if (!stdout && Option.isNone(file)) {
      return yield* misused(
        "it is a secret: say where it goes, with --file FILE (readable by you alone), --stdout, or --port-forward",
      )
    }
    const { text, instance } = yield* readKubeconfig(name)
    const { output } = yield* root
    if (stdout) yield* output === "json" ? printAsJson(text) : Console.log(text.trimEnd())
    if (Option.isSome(file)) {
      const replaced = yield* writePrivate(file.value, text)
      if (output === "json") yield* Console.log(JSON.stringify({ kubeconfig: file.value }))
      yield* Console.error(
        `${file.value}: the kubeconfig of ${instance.metadata.namespace}/${name}${replaced}; its address is one inside the cluster, from elsewhere --port-forward leads there`,
      )
    }
  }),
).pipe(
  Command.withDescription(
    "Gives the admin kubeconfig of an instance, for its address inside the cluster or over a port of this machine",
  ),
  Command.withExamples([
    { command: "kubectl pi kubeconfig one -n team-a --file one.kubeconfig" },
    { command: "kubectl pi kubeconfig one -n team-a --port-forward --file one.kubeconfig" },
  ]),
)
