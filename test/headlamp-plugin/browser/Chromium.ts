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
/** A node of the tree that Chromium gives to screen readers (CDP, Accessibility.AXNode). */
export interface AccessibleNode {
  readonly nodeId: string
  readonly backendDOMNodeId?: number
  readonly ignored: boolean
  readonly role?: { readonly value?: string }
  readonly name?: { readonly value?: string }
  readonly description?: { readonly value?: string }
  readonly properties?: ReadonlyArray<{
    readonly name: string
    readonly value: { readonly value?: unknown }
  }>
  readonly childIds?: ReadonlyArray<string>
}
interface Devtools {
  readonly send: {
    (method: "Accessibility.getFullAXTree"): Promise<{ readonly nodes: ReadonlyArray<AccessibleNode> }>
    (
      method: "DOM.describeNode",
      node: { readonly backendNodeId: number },
    ): Promise<{ readonly node: { readonly attributes?: ReadonlyArray<string> } }>
  }
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
  readonly addScriptTag: (options: { readonly path: string }) => Promise<unknown>
  readonly content: () => Promise<string>
  readonly goBack: () => Promise<unknown>
}
interface Context {
  readonly newPage: () => Promise<Page>
  readonly newCDPSession: (page: Page) => Promise<Devtools>
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

/** What the browser says its user prefers; Headlamp's theme follows it. */
export type Colours = "light" | "dark"

const plugin = join(import.meta.dirname, "../../../headlamp-plugin/")
const playwright = (): Playwright => createRequire(plugin)("playwright-core")
/** The script that measures a page's accessibility, by itself. */
export const axeScript = (): string => createRequire(plugin).resolve("axe-core/axe.min.js")

export interface User {
  readonly page: Page
  /** The URLs of all requests of this user's pages, in order. */
  readonly requests: ReadonlyArray<string>
  /** Where the page has asked for something that is not on this machine. */
  readonly strangers: ReadonlyArray<string>
  /**
   * Errors on the console, but for answers that are refusals: the browser itself reports each of those, and Headlamp one
   * that is no JSON, as the API server's is where there is no CRD.
   */
  readonly errors: ReadonlyArray<string>
  /** What a screen reader is given of the page. */
  readonly tree: () => Promise<ReadonlyArray<AccessibleNode>>
  /** The attributes of an element of that tree: name, value, name, value. */
  readonly attributes: (node: AccessibleNode) => Promise<ReadonlyArray<string>>
  readonly leave: () => Promise<void>
}

export const startChromium = async (): Promise<{
  readonly signIn: (url: string, token: string, colours?: Colours) => Promise<User>
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
  const signIn = async (url: string, token: string, colours: Colours = "light"): Promise<User> => {
    const context = await browser.newContext({
      viewport: { width: 1400, height: 1000 },
      acceptDownloads: true,
      locale: "en",
      colorScheme: colours,
    })
    // Against what never comes; a busy machine makes nothing fail.
    context.setDefaultTimeout(120_000)
    await context.addCookies([{ name: "headlamp-auth-main.0", value: token, url }])
    const requests: Array<string> = []
    const strangers: Array<string> = []
    const errors: Array<string> = []
    context.on("request", (request) => {
      const asked = request.url()
      requests.push(asked)
      if (!/^(https?|wss?):\/\/127\.0\.0\.1[:/]|^data:|^blob:/.test(asked)) strangers.push(asked)
    })
    context.on("console", (message) => {
      if (
        message.type() === "error" &&
        !/^(Failed to load resource: the server responded|Unable to parse error json at url)/.test(
          message.text(),
        )
      )
        errors.push(message.text())
    })
    context.on("weberror", (error) => errors.push(String(error.error())))
    const page = await context.newPage()
    const devtools = await context.newCDPSession(page)
    return {
      page,
      requests,
      strangers,
      errors,
      tree: async () => (await devtools.send("Accessibility.getFullAXTree")).nodes,
      attributes: async ({ backendDOMNodeId = 0 }) =>
        (await devtools.send("DOM.describeNode", { backendNodeId: backendDOMNodeId })).node.attributes ?? [],
      leave: () => context.close(),
    }
  }
  return { signIn, close: () => browser.close() }
}
