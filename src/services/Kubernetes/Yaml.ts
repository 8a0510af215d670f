// YAML that somebody else has written. Read to its first fault and no further: for each of many the parser looks at all that came
// before, so that a kilobyte of quotes takes a second. And nothing of it is told: the library's warnings quote it on stderr.
import {
  Composer,
  type Document,
  type DocumentOptions,
  type ParseOptions,
  Parser,
  type SchemaOptions,
} from "yaml"

class NotYaml extends Error {}

const toFault = (_place: unknown, _code: unknown, _message: unknown, warning?: boolean): void => {
  if (warning !== true) throw new NotYaml("not YAML")
}

function* tokensOf(text: string) {
  for (const token of new Parser().parse(text)) {
    if (token.type === "error") throw new NotYaml("not YAML")
    yield token
  }
}

/** The documents of a text. Throws at its first fault, without a word of the text. */
export const yamlDocuments = (
  text: string,
  options: ParseOptions & DocumentOptions & SchemaOptions = {},
): ReadonlyArray<Document.Parsed> => {
  const composer = new Composer(options)
  // The library has it as a private field.
  Reflect.set(composer, "onError", toFault)
  const documents = [...composer.compose(tokensOf(text))]
  const faults =
    documents.length === 0 ? composer.streamInfo().errors : documents.flatMap(({ errors }) => errors)
  if (faults.length > 0) throw new NotYaml("not YAML")
  return documents
}

/** The value of a text with one document, `null` of one with none. Throws as `yamlDocuments` does. */
export const parseYaml = (text: string): unknown => {
  const [document, ...others] = yamlDocuments(text)
  if (others.length > 0) throw new NotYaml("not one document of YAML")
  return document === undefined ? null : document.toJS()
}
