import { createHash } from 'node:crypto';

/** A draw of tasks. */
export interface TaskDraw {
  /** The weight of each task, above 0. */
  readonly weights: readonly number[];
  /** The number of tasks to draw. */
  readonly count: number;
  /** Determines the random numbers: equal keys and weights give equal draws. */
  readonly key: string;
  /** Tasks that are drawn only when no other is left. */
  readonly avoided?: ReadonlySet<number>;
}

/**
 * Draws tasks without replacement, in proportion to their weights; once all are drawn, all are available again. Each task has
 * the exponential arrival time `−ln(u) / w`, and the first ones are drawn (Efraimidis and Spirakis, 2006).
 *
 * @returns indices of tasks
 */
export function drawTasks({ weights, count, key, avoided = new Set() }: TaskDraw): readonly number[] {
  const order = weights
    .map((weight, task) => ({ task, arrival: -Math.log(uniform(`${key}/${task}`)) / weight }))
    .toSorted((one, other) => rank(one) - rank(other) || one.arrival - other.arrival || one.task - other.task)
    .map(({ task }) => task);
  return Array.from({ length: count }, (_, position) => order[position % order.length] ?? 0);

  function rank({ task }: { readonly task: number }): number {
    return avoided.has(task) ? 1 : 0;
  }
}

/** A number above 0 and below 1, by key. */
function uniform(key: string): number {
  const bits = createHash('sha256').update(key).digest().readUInt32BE();
  return (bits + 0.5) / 2 ** 32;
}
