// What a page is to those who do not use it by eye and mouse: colours, names and roles, the keyboard.
import { type AccessibleNode, axeScript, type Page, type User } from "./Chromium.ts"

/** What axe gives of a rule's result, as far as it is used here. */
interface Found {
  readonly id: string
  readonly nodes: ReadonlyArray<{
    readonly html: string
    readonly failureSummary?: string
    readonly any: ReadonlyArray<{ readonly data?: { readonly contrastRatio?: number } | null }>
  }>
}
interface Results {
  readonly violations: ReadonlyArray<Found>
  readonly passes: ReadonlyArray<Found>
}

export interface Measured {
  /** What breaks a rule of WCAG 2.2, A or AA: the rule, the element, and why. */
  readonly violations: ReadonlyArray<string>
  /** Of each text: its colour against what it stands on. */
  readonly contrasts: ReadonlyArray<number>
}

/** Runs in the page: waits until every transition has ended; a dialog and the shade behind it fade in. */
const settled = async (): Promise<void> => {
  const fading = () =>
    [...document.querySelectorAll("[role=presentation]:has([role=dialog]) > *")].some(
      (layer) => getComputedStyle(layer).opacity !== "1",
    ) || document.getAnimations().some(({ effect }) => effect?.getComputedTiming().iterations !== Infinity)
  while (fading()) await new Promise((resolve) => requestAnimationFrame(resolve))
}

/** Runs in the page. */
const runAxe = async (tags: ReadonlyArray<string>): Promise<Results> => {
  const { axe } = globalThis as unknown as {
    readonly axe: { readonly run: (context: object, options: object) => Promise<Results> }
  }
  const dialog = document.querySelector("[role=dialog]")
  const { violations, passes } = await axe.run(dialog ?? document.querySelector("#main") ?? document, {
    runOnly: tags,
    resultTypes: ["violations", "passes"],
  })
  return JSON.parse(JSON.stringify({ violations, passes }))
}

/** Measures the plugin's part of the page; the dialog alone where one is open. */
export const measure = async (page: Page): Promise<Measured> => {
  await page.addScriptTag({ path: axeScript() })
  await page.evaluate(settled, null)
  const { violations, passes } = await page.evaluate(runAxe, [
    "wcag2a",
    "wcag2aa",
    "wcag21a",
    "wcag21aa",
    "wcag22aa",
  ])
  return {
    violations: violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary = "" }) => `${id}: ${html}\n${failureSummary}`),
    ),
    contrasts: passes
      .filter(({ id }) => id === "color-contrast")
      .flatMap(({ nodes }) =>
        nodes.flatMap(({ any }) => any.flatMap(({ data }) => data?.contrastRatio ?? [])),
      ),
  }
}

export interface Control {
  readonly node: AccessibleNode
  readonly role: string
  readonly name: string
  readonly description: string
  readonly invalid: boolean
}

const property = ({ properties = [] }: AccessibleNode, name: string): unknown =>
  properties.find((one) => one.name === name)?.value.value

/** All that takes the focus in the plugin's part of the page, as a screen reader is told of it. */
export const controlsOf = async (user: User): Promise<ReadonlyArray<Control>> => {
  const nodes = new Map((await user.tree()).map((node) => [node.nodeId, node]))
  const all = [...nodes.values()]
  const root =
    all.find(({ role, ignored }) => !ignored && role?.value === "dialog") ??
    all.find(({ role, ignored }) => !ignored && role?.value === "main")
  const below = (node: AccessibleNode | undefined): ReadonlyArray<AccessibleNode> =>
    (node?.childIds ?? []).flatMap((id) => {
      const child = nodes.get(id)
      return child === undefined ? [] : [child, ...below(child)]
    })
  return below(root)
    .filter((node) => !node.ignored && property(node, "focusable") === true)
    .map((node) => ({
      node,
      role: node.role?.value ?? "",
      name: (node.name?.value ?? "").trim(),
      description: node.description?.value ?? "",
      invalid: ![undefined, false, "false"].includes(property(node, "invalid") as string | undefined),
    }))
}

/**
 * Those that a screen reader could not say what they are, by their attributes. Not meant: what the Tab key does not lead
 * to (a message that gets the focus when it comes), and boxes that take the focus only because they can be scrolled:
 * Chromium makes them so by itself, and Headlamp each box around a table.
 */
export const nameless = async (
  user: User,
  controls: ReadonlyArray<Control>,
): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  for (const { node, role, name } of controls) {
    const vague = ["", "generic", "none"].includes(role)
    if (name !== "" && !vague) continue
    const attributes = await user.attributes(node)
    const tabIndex = attributes[attributes.indexOf("tabindex") + 1]
    if (attributes.includes("tabindex") ? tabIndex === "-1" : vague) continue
    if (vague && attributes.some((value) => value.includes("MuiTableContainer-root"))) continue
    found.push(`${role}: ${attributes.join(" ")}`)
  }
  return found
}

/** Runs in the page: fields that are wrong, and what their messages are to a screen reader. */
const wrongFields = (): ReadonlyArray<{ readonly id: string; readonly roles: ReadonlyArray<string> }> =>
  [...document.querySelectorAll("[aria-invalid=true]")].map((input) => ({
    id: input.id,
    roles: (input.getAttribute("aria-describedby") ?? "")
      .split(" ")
      .map((help) => document.getElementById(help)?.getAttribute("role") ?? ""),
  }))

export const wrongFieldsOf = (page: Page) => page.evaluate(wrongFields, null)

/** Where the focus is: the id of the element, or what it says. */
const focused = (): ReadonlyArray<string> => {
  const element = document.activeElement
  return [element?.id ?? "", (element?.getAttribute("aria-label") ?? element?.textContent ?? "").trim()]
}

/** Goes on by the Tab key to what has the id or the words; fails when there is no such thing ahead. */
export const tabTo = async (page: Page, wanted: string): Promise<void> => {
  for (let i = 0; i < 80; i++) {
    await page.keyboard.press("Tab")
    if ((await page.evaluate(focused, null)).includes(wanted)) return
  }
  throw new Error(`the Tab key does not lead to ${wanted}`)
}
