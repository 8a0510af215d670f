// The annotations of a PlatformInstance as a table, read off the schema.
import { type AnnotationRow, annotationRows } from "../../src/schema/Annotations.ts"
import { code, table } from "./Markdown.ts"

export const annotationTable = (): string =>
  table(
    ["Annotation on a PlatformInstance", "Set by", "Meaning"],
    Object.entries<AnnotationRow>(annotationRows).map(([name, { meaning, check }]) => [
      code(name),
      check === undefined ? "operator" : "you",
      meaning,
    ]),
  )
