// The state of a form: what is typed, what is wrong with it, what the server has said.
import { useCallback, useDeferredValue, useMemo, useRef, useState } from "react"
import type { Issue } from "../../logic/checks.ts"
import { type Draft, objectOf, setValue } from "../../logic/form.ts"
import { type Refusal, refusalOf } from "../../logic/refusal.ts"
import { isImmutable } from "../../logic/rules.ts"
import { isUnder, type JsonObject, type Path, rootSchema, valueAt } from "../../logic/schema.ts"
import { validate } from "../../logic/validate.ts"
import { say } from "../../logic/words.ts"
import type { Editing } from "./editing.ts"

interface Refused {
  readonly refusal: Refusal
  readonly draft: Draft
}

const REQUIRED = "is required"

/** What the server said of a field counts until the field is changed. */
const serverIssues = (refused: Refused | undefined, draft: Draft): ReadonlyArray<Issue> =>
  (refused?.refusal.fields ?? []).flatMap(({ path, message }) =>
    valueAt(draft, path) === valueAt(refused?.draft, path) ? [{ path, words: say(message) }] : [],
  )

export const useForm = (
  initial: Draft,
  base: JsonObject | undefined,
  onSubmit: (draft: Draft) => Promise<void>,
) => {
  const [draft, setDraft] = useState(initial)
  const [asked, setAsked] = useState(false)
  const [sending, setSending] = useState(false)
  const [refused, setRefused] = useState<Refused>()

  // Whoever types does not wait for the check of 128 users.
  const checked = useDeferredValue(draft)
  const wrong = useMemo(() => validate(objectOf(checked), base), [checked, base])
  const issues = useMemo(() => {
    const all = [...wrong, ...serverIssues(refused, checked)]
    // An empty form is not full of errors before anybody has tried to send it.
    return asked ? all : all.filter(({ words }) => words.text !== REQUIRED)
  }, [wrong, refused, checked, asked])

  const onDraft: Editing["onDraft"] = useCallback((change) => setDraft(change), [])
  const onValue: Editing["onValue"] = useCallback(
    (path, value) => setDraft((before) => setValue(before, path, value)),
    [],
  )
  const locked = useCallback((path: Path) => base !== undefined && isImmutable(path, rootSchema), [base])

  /** Gives the first thing that is wrong, when nothing was sent for it. */
  const submit = async (): Promise<Issue | undefined> => {
    setAsked(true)
    const [first] = validate(objectOf(draft), base)
    if (first !== undefined) return first
    setRefused(undefined)
    setSending(true)
    try {
      await onSubmit(draft)
      return undefined
    } catch (error) {
      const refusal = refusalOf(error, base === undefined)
      setRefused({ refusal, draft })
      return refusal.fields.map(({ path, message }) => ({ path, words: say(message) }))[0]
    } finally {
      setSending(false)
    }
  }
  return { draft, issues, asked, sending, refusal: refused?.refusal, onDraft, onValue, locked, submit }
}

const same = (a: ReadonlyArray<Issue>, b: ReadonlyArray<Issue>): boolean =>
  a.length === b.length && JSON.stringify(a) === JSON.stringify(b)

/** Those below a place (or not below any other); the very same list while they are the same. */
export const useIssues = (
  issues: ReadonlyArray<Issue>,
  belongs: (path: Path) => boolean,
): ReadonlyArray<Issue> => {
  const kept = useRef<ReadonlyArray<Issue>>([])
  const now = issues.filter(({ path }) => belongs(path))
  if (!same(kept.current, now)) kept.current = now
  return kept.current
}

export const below =
  (...places: ReadonlyArray<Path>) =>
  (path: Path): boolean =>
    places.some((place) => isUnder(path, place))
