/** The state of a {@link Random}: four 32-bit words, as stored in a checkpoint. */
export type RandomState = readonly [number, number, number, number];

/** A seeded generator of random numbers (sfc32, Doty-Humphrey 2010): small, fast, the same on every machine. */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter: number;

  private constructor(state: RandomState) {
    [this.#a, this.#b, this.#c, this.#counter] = state;
  }

  /** Creates a generator from a seed (any finite number; its 53 bits count). */
  static fromSeed(seed: number): Random {
    const low = seed >>> 0;
    const high = Math.floor(seed / 2 ** 32) >>> 0;
    const random = new Random([0x9e3779b9, high, low, 1]);
    for (let i = 0; i < 16; i++) random.nextUint32();
    return random;
  }

  /** Creates a generator from a saved state. */
  static fromState(state: RandomState): Random {
    return new Random(state);
  }

  /** The current state, for {@link Random.fromState}. */
  get state(): RandomState {
    return [this.#a >>> 0, this.#b >>> 0, this.#c >>> 0, this.#counter >>> 0];
  }

  /** Restores a saved state. */
  restore(state: RandomState): void {
    [this.#a, this.#b, this.#c, this.#counter] = state;
  }

  /** A uniform integer in [0, 2^32). */
  nextUint32(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** A uniform number in [0, 1). */
  nextUniform(): number {
    return this.nextUint32() / 2 ** 32;
  }

  /** A uniform integer in [0, bound). */
  nextInteger(bound: number): number {
    return Math.floor(this.nextUniform() * bound);
  }

  /** A standard normal number (Box and Muller 1958). */
  nextNormal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.nextUniform()));
    return radius * Math.cos(2 * Math.PI * this.nextUniform());
  }
}
