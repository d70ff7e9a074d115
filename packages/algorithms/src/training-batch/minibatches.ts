import { seededRandom, shuffled } from '../seeded-random.ts';

/** How data is gone through. */
export interface MinibatchOptions {
  /** How often all items are used. */
  readonly epochs: number;
  /** Into how many parts the items are divided in each epoch. */
  readonly minibatches: number;
  readonly seed: number;
}

/**
 * Divides items into parts of equal size, give or take one, anew in each epoch. The same seed gives the same
 * parts. One part keeps the order of the items. There are never more parts than items.
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
