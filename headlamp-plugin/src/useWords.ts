// Sentences of the pure modules, in the user's language.
import { useTranslation } from "@kinvolk/headlamp-plugin/lib"
import { useCallback } from "react"
import { inEnglish, type Words } from "./logic/words.ts"

export type Say = (words: Words) => string
export type Translate = (text: string, values?: Readonly<Record<string, string | number>>) => string

/** `t` translates a sentence, `say` one that came as `Words`. */
export const useWords = (): { readonly t: Translate; readonly say: Say } => {
  const { t: translate } = useTranslation()
  const t: Translate = useCallback(
    (text, values) =>
      inEnglish({
        text: String(translate(text, { nsSeparator: false, keySeparator: false, skipInterpolation: true })),
        ...(values === undefined ? {} : { values }),
      }),
    [translate],
  )
  const say: Say = useCallback(({ text, values }) => t(text, values), [t])
  return { t, say }
}
