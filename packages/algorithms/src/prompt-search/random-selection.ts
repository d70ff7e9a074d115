import { type SeededRandom, seededRandom, shuffled } from '../base/seeded-random.ts';

/** A random source for one position of a search, so that a resumed search has the same numbers as an uninterrupted one. */
export function randomForPosition(seed: number, ...position: readonly number[]): SeededRandom {
  return seededRandom(position.reduce((mixed, part) => Math.imul(mixed ^ (part + 0x9e37), 0x85eb_ca6b), seed | 0));
}

/** `count` different numbers from 0 to `from - 1`; all of them when `count` is at least `from`. */
export function sampleTasks(random: SeededRandom, count: number, from: number): readonly number[] {
  const all = Array.from({ length: from }, (_, task) => task);
  return count >= from ? all : shuffled(all, random).slice(0, count);
}

/** Selects an item with probability proportional to its weight. */
export function sampleWeighted<TItem>(
  random: SeededRandom,
  items: readonly TItem[],
  weightOf: (item: TItem) => number,
): TItem | null {
  let left = random() * items.reduce((sum, item) => sum + weightOf(item), 0);
  for (const item of items) {
    left -= weightOf(item);
    if (left < 0) return item;
  }
  return items.at(-1) ?? null;
}
