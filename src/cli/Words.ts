// Words for a terminal: tables, colours, spans of time. Pure, but for what the process itself knows of its terminal.
import { Context, DateTime, Option } from "effect"
import { parseTime } from "../schema/Time.ts"

export type Colour = "green" | "yellow" | "red" | "dim" | "bold"

const codes: Record<Colour, number> = { green: 32, yellow: 33, red: 31, dim: 2, bold: 1 }

/** Only on a terminal, and where nobody has asked for none (https://no-color.org). */
export const Colours = Context.Reference<boolean>("kubectl-pi/Colours", {
  defaultValue: () => process.stdout.isTTY === true && (process.env.NO_COLOR ?? "") === "",
})

export type Paint = (colour: Colour, text: string) => string
export const painter =
  (colours: boolean): Paint =>
  (colour, text) =>
    colours && text !== "" ? `\u001b[${codes[colour]}m${text}\u001b[0m` : text

/**
 * Without what would move the cursor, colour the terminal, begin a line or turn the direction of writing: words of
 * programs are shown, not obeyed.
 */
export const plain = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, " ")

export interface Cell {
  readonly text: string
  readonly colour?: Colour
}

/** Columns as wide as their widest cell; the last one as it comes. */
export const table = (
  head: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string | Cell>>,
  paint: Paint,
): string => {
  const cells = [head, ...rows].map((row) =>
    row.map((cell) =>
      typeof cell === "string" ? { text: plain(cell) } : { ...cell, text: plain(cell.text) },
    ),
  )
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.text.length ?? 0)))
  return cells
    .map((row) =>
      row
        .map((cell: Cell, column) => {
          const padded = column === row.length - 1 ? cell.text : cell.text.padEnd(widths[column] ?? 0)
          return cell.colour === undefined ? padded : paint(cell.colour, padded)
        })
        .join("  ")
        .trimEnd(),
    )
    .join("\n")
}

/** `5s`, `3m`, `2h10m`, `4d`: as kubectl has ages. */
export const spanText = (millis: number): string => {
  const seconds = Math.max(0, Math.round(millis / 1000))
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 120) return minutes < 10 && seconds % 60 > 0 ? `${minutes}m${seconds % 60}s` : `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return minutes % 60 > 0 && hours < 8 ? `${hours}h${minutes % 60}m` : `${hours}h`
  return `${Math.floor(hours / 24)}d`
}

/** Since then; nothing of what is no time. */
export const ageOf = (time: string | undefined, now: number): string | undefined =>
  Option.getOrUndefined(
    Option.map(parseTime(time ?? ""), (then) => spanText(now - DateTime.toEpochMillis(then))),
  )

export const indented = (text: string, by: string): string =>
  text
    .split("\n")
    .map((line) => by + plain(line))
    .join("\n")
