// What the sections of the form have in common.
import type { Issue } from "../../logic/checks.ts"
import type { Draft } from "../../logic/form.ts"
import type { Json, Path } from "../../logic/schema.ts"

export interface Editing {
  readonly onValue: (path: Path, value: Json | undefined) => void
  readonly onDraft: (change: (draft: Draft) => Draft) => void
  readonly locked: (path: Path) => boolean
}

export interface SectionProps extends Editing {
  /** What is below `spec.platform`, or below `spec`. */
  readonly value: Json | undefined
  /** The issues of this section alone; the same object while they are the same. */
  readonly issues: ReadonlyArray<Issue>
}

export interface ListProps extends SectionProps {
  readonly open: number | undefined
  readonly onOpen: (index: number | undefined) => void
}
