// Debian's Chromium, driven by playwright-core, which is installed with the plugin and not with the operator; hence its
// types, as far as they are used, are written down here.
import { createRequire } from "node:module"
import { join } from "node:path"

interface Options {
  readonly timeout?: number
  readonly exact?: boolean
}
export interface Locator {
  readonly click: (options?: Options) => Promise<void>
  readonly fill: (value: string) => Promise<void>
  readonly press: (key: string) => Promise<void>
  readonly selectOption: (value: string) => Promise<unknown>
  readonly check: () => Promise<void>
  readonly waitFor: (
    options?: Options & { readonly state?: "visible" | "hidden" | "attached" },
  ) => Promise<void>
  readonly textContent: () => Promise<string | null>
  readonly innerText: () => Promise<string>
  readonly inputValue: () => Promise<string>
  readonly count: () => Promise<number>
  readonly isDisabled: () => Promise<boolean>
  readonly first: () => Locator
  readonly last: () => Locator
  readonly nth: (index: number) => Locator
  readonly locator: (selector: string) => Locator
  readonly getByText: (text: string | RegExp, options?: Options) => Locator
  readonly getByRole: (role: string, options?: Options & { readonly name?: string | RegExp }) => Locator
}
interface Download {
  readonly suggestedFilename: () => string
  readonly path: () => Promise<string>
}
interface Message {
  readonly type: () => string
  readonly text: () => string
}
export interface Page {
  readonly goto: (url: string) => Promise<unknown>
  readonly locator: (selector: string) => Locator
  readonly getByText: Locator["getByText"]
  readonly getByRole: Locator["getByRole"]
  readonly getByLabel: (text: string | RegExp, options?: Options) => Locator
  readonly keyboard: {
    readonly press: (key: string) => Promise<void>
    readonly type: (text: string) => Promise<void>
  }
  readonly screenshot: (options: { readonly path: string; readonly fullPage?: boolean }) => Promise<unknown>
  readonly evaluate: <A, B>(run: (argument: B) => A | Promise<A>, argument: B) => Promise<A>
  readonly waitForEvent: (name: "download") => Promise<Download>
  readonly url: () => string
  readonly setViewportSize: (size: { readonly width: number; readonly height: number }) => Promise<void>
  readonly emulateMedia: (media: { readonly colorScheme: "dark" | "light" }) => Promise<void>
  readonly content: () => Promise<string>
  readonly goBack: () => Promise<unknown>
}
interface Context {
  readonly newPage: () => Promise<Page>
  readonly addCookies: (
    cookies: ReadonlyArray<{ readonly name: string; readonly value: string; readonly url: string }>,
  ) => Promise<void>
  readonly on: {
    (name: "request", listener: (request: { readonly url: () => string }) => void): void
    (name: "console", listener: (message: Message) => void): void
    (name: "weberror", listener: (error: { readonly error: () => Error }) => void): void
  }
  readonly close: () => Promise<void>
  readonly setDefaultTimeout: (timeout: number) => void
}
interface Browser {
  readonly newContext: (options: object) => Promise<Context>
  readonly close: () => Promise<void>
}
interface Playwright {
  readonly chromium: { readonly launch: (options: object) => Promise<Browser> }
}

const plugin = join(import.meta.dirname, "../../../headlamp-plugin/")
const playwright = (): Playwright => createRequire(plugin)("playwright-core")

export interface User {
  readonly page: Page
  /** Where the page has asked for something that is not on this machine. */
  readonly strangers: ReadonlyArray<string>
  /** Errors on the console, but for answers that are refusals: the browser itself reports each of those. */
  readonly errors: ReadonlyArray<string>
  readonly leave: () => Promise<void>
}

export const startChromium = async (): Promise<{
  readonly signIn: (url: string, token: string) => Promise<User>
  readonly close: () => Promise<void>
}> => {
  const browser = await playwright().chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  })
  const signIn = async (url: string, token: string): Promise<User> => {
    const context = await browser.newContext({
      viewport: { width: 1400, height: 1000 },
      acceptDownloads: true,
      locale: "en",
    })
    // Against what never comes; a busy machine makes nothing fail.
    context.setDefaultTimeout(120_000)
    await context.addCookies([{ name: "headlamp-auth-main.0", value: token, url }])
    const strangers: Array<string> = []
    const errors: Array<string> = []
    context.on("request", (request) => {
      const asked = request.url()
      if (!/^(https?|wss?):\/\/127\.0\.0\.1[:/]|^data:|^blob:/.test(asked)) strangers.push(asked)
    })
    context.on("console", (message) => {
      if (
        message.type() === "error" &&
        !/^Failed to load resource: the server responded/.test(message.text())
      )
        errors.push(message.text())
    })
    context.on("weberror", (error) => errors.push(String(error.error())))
    return { page: await context.newPage(), strangers, errors, leave: () => context.close() }
  }
  return { signIn, close: () => browser.close() }
}
