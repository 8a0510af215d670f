/** Why the playground does not start, or had to end: told as it is, with the way out in it. */
export class Refusal extends Error {
  override readonly name = "Refusal"
}
