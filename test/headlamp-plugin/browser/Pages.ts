// The plugin's pages, as somebody uses them.
import { join } from "node:path"
import type { Locator, Page } from "./Chromium.ts"

const at = (path: string) => `/c/main/platform-instances${path}`

/** A field, by the path of what it stands for: `spec.version`. */
export const field = (page: Page, path: string): Locator => page.locator(`[id="${path}"]`)
export const helpOf = (page: Page, path: string): Locator => page.locator(`[id="${path}-help"]`)
export const button = (page: Page, name: string | RegExp): Locator =>
  page.getByRole("button", { name, exact: true })

export const openList = async (page: Page, url: string): Promise<void> => {
  await page.goto(url + at(""))
}

/** Goes to a page of the plugin and waits for nothing. */
export const openPath = async (page: Page, url: string, path: string): Promise<void> => {
  await page.goto(url + at(path))
}

export const openInstance = async (page: Page, url: string, key: string): Promise<void> => {
  await page.goto(url + at(`/${key}`))
  await page.getByText("Conditions").first().waitFor()
}

export const openEdit = async (page: Page, url: string, key: string): Promise<void> => {
  await page.goto(url + at(`/${key}/edit`))
  await field(page, "spec.version").waitFor()
}

export const openCreate = async (page: Page, url: string): Promise<void> => {
  await page.goto(url + at("/create"))
  await field(page, "metadata.name").waitFor()
}

export const fill = async (page: Page, values: Readonly<Record<string, string>>): Promise<void> => {
  for (const [path, value] of Object.entries(values)) await field(page, path).fill(value)
}

/** What a preview shows; it is closed again. */
export const preview = async (page: Page, name: "Show YAML" | "Show patch"): Promise<string> => {
  await button(page, name).click()
  const text = (await page.locator("#preview").textContent()) ?? ""
  await button(page, "Close").click()
  await page.locator("#preview").waitFor({ state: "hidden" })
  return text
}

/** Keeps a picture of the page for the docs, where SCREENSHOTS names a folder. */
export const picture = async (page: Page, name: string): Promise<void> => {
  const folder = process.env.SCREENSHOTS
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) })
}
