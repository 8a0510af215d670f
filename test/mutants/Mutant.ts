// A mutant: the sources with one fault in them. The tests are to tell it from the sources as they are.

/** One place of one file with another text. */
export interface Edit {
  /** From the root of the repository. */
  readonly file: string
  /** In characters from the file's beginning; `end` is behind the last one that goes. */
  readonly start: number
  readonly end: number
  readonly text: string
}

/** A fault as a person might make it. */
export interface HandMade {
  /** The fault in words; one of its kind. */
  readonly name: string
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly find: string
  readonly put: string
  /** The files or folders of tests that are to catch it, the likeliest first. */
  readonly tests: ReadonlyArray<string>
}

export interface Mutant {
  readonly name: string
  readonly edit: Edit
  readonly kind: "hand-made" | "generated"
  /** Files or folders of tests, the likeliest first. */
  readonly tests: ReadonlyArray<string>
}

/** The place of a hand-made fault in its file. Throws unless there is exactly one. */
export const located = ({ name, file, find, put, tests }: HandMade, source: string): Mutant => {
  const start = source.indexOf(find)
  if (find === "" || start < 0) throw new Error(`${name}: its text is not in ${file}`)
  if (source.includes(find, start + 1)) throw new Error(`${name}: its text is in ${file} more than once`)
  const edit: Edit = { file, start, end: start + find.length, text: put }
  return { name, edit, kind: "hand-made", tests }
}

/** The file with the fault in it. */
export const applied = ({ start, end, text }: Edit, source: string): string =>
  source.slice(0, start) + text + source.slice(end)
