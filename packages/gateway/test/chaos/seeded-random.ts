import { randomNumbers } from '../../../../tools/random-numbers.ts';

/** A seeded pseudorandom number generator. */
export class SeededRandom {
  /** A number in [0, 1). */
  readonly next: () => number;

  constructor(seed: number) {
    this.next = randomNumbers(seed);
  }

  /** An integer in [0, `end`). */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** A random element. */
  of<TItem>(items: readonly [TItem, ...TItem[]]): TItem {
    return items[this.below(items.length)] ?? items[0];
  }

  /** True with this probability. */
  happens(probability: number): boolean {
    return this.next() < probability;
  }
}
