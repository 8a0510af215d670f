/** The same answer for the same text: the last ones are kept. Programs read the same files over and over. */
export const remember = <A>(make: (text: string) => A, most = 16): ((text: string) => A) => {
  const known = new Map<string, A>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const made = make(text)
    if (known.size >= most) known.delete(known.keys().next().value ?? "")
    known.set(text, made)
    return made
  }
}
