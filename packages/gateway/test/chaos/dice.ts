import { randomNumbers } from '../../../../tools/random-numbers.ts';

/** Chance that comes out the same for the same seed. */
export class Dice {
  /** The next number, from 0 and below 1. */
  readonly next: () => number;

  constructor(seed: number) {
    this.next = randomNumbers(seed);
  }

  /** A whole number from 0 and below `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** One of several. */
  of<TItem>(items: readonly [TItem, ...TItem[]]): TItem {
    return items[this.below(items.length)] ?? items[0];
  }

  /** Whether something happens that does so with this probability. */
  happens(probability: number): boolean {
    return this.next() < probability;
  }
}
