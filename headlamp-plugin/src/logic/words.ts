// Sentences the plugin says, before anybody has translated them. A component says them through `t(text, values)`.

export interface Words {
  /** The English sentence, which is also the key of its translation. `{{name}}` stands for a value. */
  readonly text: string
  readonly values?: Readonly<Record<string, string | number>>
}

export const say = (text: string, values?: Words["values"]): Words =>
  values === undefined ? { text } : { text, values }

/** The sentence in English, its values filled in. */
export const inEnglish = ({ text, values }: Words): string =>
  text.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => String(values?.[name] ?? whole))
