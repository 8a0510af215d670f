// What an instance says of itself, state after state, as whoever watches it is told.
import { conditionOf, isReady, type Key, SeenInstance } from "./Instance.ts"
import { until, untilTrue } from "./Until.ts"
import { watch } from "./Watch.ts"

export interface Told {
  /** A place in what was told, to look from there on. */
  readonly mark: () => number
  /** `TargetReady` since then, each as `True Ready: …`, repetitions left out. */
  readonly targetSince: (mark: number) => ReadonlyArray<string>
  readonly phasesSince: (mark: number) => ReadonlyArray<string | undefined>
  /** Waits until `TargetReady` has said so since then. */
  readonly untilTarget: (what: RegExp, mark: number) => Promise<void>
  /** Waits until that was told, and the instance is Ready after it. */
  readonly untilReadyAfter: (what: RegExp, mark: number) => Promise<SeenInstance>
  readonly end: () => Promise<void>
}

export const tellOf = async ({ namespace, name }: Key): Promise<Told> => {
  const { seen, end } = watch(
    SeenInstance,
    `/apis/platform.di-framework.dev/v1alpha1/namespaces/${namespace}/platforminstances?fieldSelector=metadata.name=${name}`,
  )
  await untilTrue(`the watch of ${namespace}/${name} has begun`, () => seen.length > 0)
  const since = (mark: number) => seen.slice(mark).map(({ object }) => object)
  const target = (instance: SeenInstance): string => {
    const condition = conditionOf(instance, "TargetReady")
    return `${condition?.status} ${condition?.reason}: ${condition?.message}`
  }
  const targetSince = (mark: number) =>
    since(mark)
      .map(target)
      .filter((text, index, all) => text !== all[index - 1])
  const first = (what: RegExp, mark: number): number =>
    since(mark).findIndex((instance) => what.test(target(instance)))
  return {
    mark: () => seen.length,
    targetSince,
    phasesSince: (mark) => since(mark).map(({ status }) => status?.phase),
    untilTarget: (what, mark) => untilTrue(`${namespace}/${name} says ${what}`, () => first(what, mark) >= 0),
    untilReadyAfter: (what, mark) =>
      until(`${namespace}/${name} says ${what} and is Ready after it`, () => {
        const at = first(what, mark)
        const newest = seen.at(-1)?.object
        return at >= 0 && newest !== undefined && isReady(newest) ? newest : undefined
      }),
    end,
  }
}
