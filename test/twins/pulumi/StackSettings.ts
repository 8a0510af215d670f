// `Pulumi.<stack>.yaml` beside `Pulumi.yaml`: the salt on top, and the stack config below it, secret values encrypted.
import { Predicate } from "effect"
import { parse, stringify } from "yaml"
import { system } from "./Backend.ts"
import type { Keeper } from "./Passphrase.ts"
import { remember } from "./remember.ts"
import type { ConfigValue, StackConfig } from "./sdk/Sdk.ts"
import { readText, type Volume } from "./Volume.ts"

export interface StackSettings {
  readonly salt: string | undefined
  /** As they stand there: a secret one is `{secure}`. */
  readonly values: ReadonlyMap<string, string | { readonly secure: string }>
}

const fileOf = (directory: string, stack: string) => `${directory}/Pulumi.${stack}.yaml`

const settingOf = (value: unknown): string | { readonly secure: string } =>
  Predicate.isObject(value) && "secure" in value ? { secure: String(value.secure) } : String(value)

const parseSettings = remember((text: string): StackSettings => {
  const file: unknown = parse(text)
  const top: Record<string, unknown> = Predicate.isObject(file) ? { ...file } : {}
  const config = Predicate.isObject(top.config) ? top.config : {}
  return {
    salt: typeof top.encryptionsalt === "string" ? top.encryptionsalt : undefined,
    values: new Map(Object.entries(config).map(([key, value]) => [key, settingOf(value)])),
  }
})

export const readSettings = (volume: Volume, directory: string, stack: string) =>
  system(() => parseSettings(readText(volume, fileOf(directory, stack)) ?? "{}"))

export const writeSettings = (volume: Volume, directory: string, stack: string, settings: StackSettings) =>
  system(() => {
    const config = Object.fromEntries([...settings.values].sort(([a], [b]) => (a < b ? -1 : 1)))
    const text = stringify({
      ...(settings.salt === undefined ? {} : { encryptionsalt: settings.salt }),
      ...(settings.values.size === 0 ? {} : { config }),
    })
    volume.writeFile(fileOf(directory, stack), text, 0o600)
  })

/** In the clear. */
export const openConfig = (settings: StackSettings, keeper: Keeper): StackConfig =>
  new Map(
    [...settings.values].map(([key, value]): [string, ConfigValue] => [
      key,
      typeof value === "string"
        ? { value, secret: false }
        : { value: keeper.decrypt(value.secure), secret: true },
    ]),
  )

/** Whole stack config of a request; what is unchanged stays as it was written. */
export const withConfig = (settings: StackSettings, wanted: StackConfig, keeper: Keeper): StackSettings => {
  const before = openConfig(settings, keeper)
  return {
    salt: keeper.salt,
    values: new Map(
      [...wanted].map(([key, { value, secret }]) => {
        const old = before.get(key)
        const kept = old?.value === value && old.secret === secret ? settings.values.get(key) : undefined
        return [key, kept ?? (secret ? { secure: keeper.encrypt(value) } : value)]
      }),
    ),
  }
}

export const isSameConfig = (settings: StackSettings, next: StackSettings): boolean =>
  settings.salt === next.salt &&
  settings.values.size === next.values.size &&
  [...next.values].every(([key, value]) => settings.values.get(key) === value)
