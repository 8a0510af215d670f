// What every command takes: which cluster, which namespace, as whom, and in which form to answer.
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Where } from "./Kubectl.ts"
import { plain } from "./Words.ts"

export const root = Command.make("kubectl pi").pipe(
  Command.withDescription("Looks at and works with PlatformInstances"),
  Command.withSharedFlags({
    namespace: Flag.String("namespace").pipe(
      Flag.withAlias("n"),
      Flag.withMetavar("NAMESPACE"),
      Flag.withDescription("Namespace of the instance; that of the context when not set"),
      Flag.optional,
    ),
    context: Flag.String("context").pipe(
      Flag.withMetavar("NAME"),
      Flag.withDescription("Context of the kubeconfig; the current one when not set"),
      Flag.optional,
    ),
    kubeconfig: Flag.String("kubeconfig").pipe(
      Flag.withMetavar("FILE"),
      Flag.withDescription("Another kubeconfig than kubectl would take"),
      Flag.optional,
    ),
    as: Flag.String("as").pipe(
      Flag.withMetavar("USER"),
      Flag.withDescription("Act as that user, or system:serviceaccount:<namespace>:<name>"),
      Flag.optional,
    ),
    asGroups: Flag.String("as-group").pipe(
      Flag.withMetavar("GROUP"),
      Flag.withDescription("Act as one of that group, with --as; may be given more than once"),
      Flag.atLeast(0),
    ),
    output: Flag.Literals("output", ["text", "json"]).pipe(
      Flag.withAlias("o"),
      Flag.withMetavar("FORM"),
      Flag.withDescription("text or json (default text)"),
      Flag.withDefault("text" as const),
    ),
  }),
)

/** kubectl would take `-A`, or nothing, for something else than a name. */
const isName = (text: string): boolean => /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(text)

export const instanceNamed = (description: string) =>
  Argument.String("name").pipe(
    Argument.withDescription(description),
    Argument.filter(
      isName,
      () => "Expected the name of one PlatformInstance: lower-case letters, digits, '-' and '.'",
    ),
  )

export const instanceArgument = instanceNamed("Name of the PlatformInstance")

export const where = Effect.map(
  root,
  ({ namespace, context, kubeconfig, as, asGroups }): Where => ({
    ...Option.match(namespace, { onNone: () => ({}), onSome: (value) => ({ namespace: value }) }),
    ...Option.match(context, { onNone: () => ({}), onSome: (value) => ({ context: value }) }),
    ...Option.match(kubeconfig, { onNone: () => ({}), onSome: (value) => ({ kubeconfig: value }) }),
    ...Option.match(as, { onNone: () => ({}), onSome: (value) => ({ as: value }) }),
    ...(asGroups.length === 0 ? {} : { asGroups }),
  }),
)

/** What a command of several steps says of each, beside its answer. */
export const step = (text: string) => Console.error(plain(text))
/** Of one that was cut off. */
export const AGAIN = "give the same command again, and it goes on"

/** Prints in the form that was asked for. */
export const answer = Effect.fnUntraced(function* (value: unknown, text: () => string) {
  const { output } = yield* root
  yield* Console.log(output === "json" ? JSON.stringify(value, null, 2) : text())
})

/** Says why there is nothing to list. As text that is the whole answer: a table without a row would be none. */
export const answerNothing = Effect.fnUntraced(function* (value: unknown, why: string) {
  yield* Console.error(why)
  if ((yield* root).output === "json") yield* answer(value, () => "")
})
