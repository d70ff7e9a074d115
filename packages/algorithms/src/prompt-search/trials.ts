import type { TriedTask } from '@agentlightning/core/algorithm';
import { type SeededRandom, seededRandom, shuffled } from '../base/seeded-random.ts';

/** Transcripts of tasks, in ascending order of reward: failures are the most informative. */
export function transcriptsText(tried: readonly TriedTask[]): string {
  return tried
    .toSorted((one, other) => (one.reward ?? Infinity) - (other.reward ?? Infinity))
    .map(({ transcript, reward }, index) => {
      const judged = reward === null ? 'not judged' : `reward ${reward}`;
      return `--- attempt ${index + 1} (${judged}) ---\n${transcript}`;
    })
    .join('\n\n');
}

/** The mean of the recorded rewards; null without rewards. */
export function meanReward(tried: readonly TriedTask[]): number | null {
  return meanScore(tried.map(({ reward }) => reward));
}

/** The mean of the recorded scores; null without scores. */
export function meanScore(scores: readonly (number | null)[]): number | null {
  const known = scores.filter((score) => score !== null);
  return known.length === 0 ? null : known.reduce((sum, score) => sum + score, 0) / known.length;
}

/** A random source for one position of a search, so that a resumed search has the same numbers as an uninterrupted one. */
export function randomForPosition(seed: number, ...position: readonly number[]): SeededRandom {
  return seededRandom(position.reduce((mixed, part) => Math.imul(mixed ^ (part + 0x9e37), 0x85eb_ca6b), seed | 0));
}

/** The tasks of a sample. */
export interface TaskSampling {
  /** Number of tasks of the split. */
  readonly from: number;
  /** Tasks that are not drawn while enough others exist. @default none */
  readonly avoided?: ReadonlySet<number>;
}

/** `count` different task indices from 0 to `from - 1`; all of them when `count` is at least `from`. */
export function sampleTasks(
  random: SeededRandom,
  count: number,
  { from, avoided = new Set() }: TaskSampling,
): readonly number[] {
  const all = Array.from({ length: from }, (_, task) => task);
  if (count >= from) return all;
  const others = all.filter((task) => !avoided.has(task));
  return shuffled(others.length < count ? all : others, random).slice(0, count);
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
