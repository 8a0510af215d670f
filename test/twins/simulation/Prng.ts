// A generator of our own: another release of a library must not change what a seed means.

/** sfc32 (Chris Doty-Humphrey, PractRand): 128 bits of state, a few additions and shifts a number. */
export class Prng {
  private a: number
  private b: number
  private c = 0x9e3779b9
  private counter = 1

  /** Streams of one seed are independent of each other. */
  constructor(seed: number, stream = 0) {
    this.a = seed | 0
    this.b = stream | 0
    // As the author does: the first numbers still look like the seed.
    for (let round = 0; round < 12; round++) this.next()
  }

  /** 32 bits, unsigned. */
  next(): number {
    const result = (this.a + this.b + this.counter) | 0
    this.counter = (this.counter + 1) | 0
    this.a = this.b ^ (this.b >>> 9)
    this.b = (this.c + (this.c << 3)) | 0
    this.c = (((this.c << 21) | (this.c >>> 11)) + result) | 0
    return result >>> 0
  }

  /** A whole number from 0 up to and without `limit`, which is below 2^32. */
  below(limit: number): number {
    return Math.floor((this.next() / 2 ** 32) * limit)
  }

  /** From 0 up to and without 1, with 53 bits. */
  double(): number {
    return ((this.next() >>> 5) * 2 ** 26 + (this.next() >>> 6)) / 2 ** 53
  }
}
