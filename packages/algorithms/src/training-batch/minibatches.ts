import { seededRandom, shuffled } from '../base/seeded-random.ts';

/** Number of passes and parts. */
export interface MinibatchOptions {
  /** Number of passes over all items. */
  readonly epochs: number;
  /** Number of parts per epoch. */
  readonly minibatches: number;
  readonly seed: number;
}

/**
 * Divides items into random parts of equal size, ±1, for each epoch. It is deterministic for a seed. A single part keeps the
 * order of the items. There are at most as many parts as items.
 */
export function minibatches<TItem>(items: readonly TItem[], options: MinibatchOptions): readonly (readonly TItem[])[] {
  const random = seededRandom(options.seed);
  const parts = Math.min(options.minibatches, items.length);
  return Array.from({ length: options.epochs }, () => {
    const order = parts === 1 ? items : shuffled(items, random);
    return Array.from({ length: parts }, (_, part) =>
      order.slice(Math.floor((part * order.length) / parts), Math.floor(((part + 1) * order.length) / parts)),
    );
  }).flat();
}
