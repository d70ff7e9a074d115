import { z } from 'zod';

/** The results of a task: the number of rollouts and of passed ones, both with decay. */
export interface TaskResults {
  readonly rollouts: number;
  /** From 0 to `rollouts`; rollouts may pass in part. */
  readonly passed: number;
}

/** The results of the tasks that have any, by index. */
export type PassRates = ReadonlyMap<number, TaskResults>;

/** Results of tasks as JSON: index, rollouts, passed. */
export type StoredPassRates = readonly (readonly [task: number, rollouts: number, passed: number])[];

/** Validates {@link StoredPassRates}. */
export const storedPassRatesSchema: z.ZodType<StoredPassRates> = z.array(z.tuple([z.int(), z.number(), z.number()]));

/** Reads stored results. */
export function readPassRates(stored: StoredPassRates): PassRates {
  return new Map(stored.map(([task, rollouts, passed]) => [task, { rollouts, passed }]));
}

/** Results in their stored form, ordered by task. */
export function writePassRates(rates: PassRates): StoredPassRates {
  return [...rates]
    .map(([task, { rollouts, passed }]) => [task, rollouts, passed] as const)
    .toSorted(([one], [other]) => one - other);
}

/** A finished rollout of a task. */
export interface TaskOutcome {
  readonly task: number;
  /** Degree to which it passed, from 0 to 1. */
  readonly passed: number;
}

/**
 * Adds the outcomes of a step. The result does not depend on their order.
 *
 * @param memory - decay factor of the earlier results of tasks with new ones
 */
export function addOutcomes(rates: PassRates, outcomes: readonly TaskOutcome[], memory: number): PassRates {
  const updated = new Map(rates);
  for (const task of new Set(outcomes.map((outcome) => outcome.task))) {
    const earlier = rates.get(task) ?? { rollouts: 0, passed: 0 };
    updated.set(task, { rollouts: memory * earlier.rollouts, passed: memory * earlier.passed });
  }
  // Sums of floating-point numbers depend on the order.
  for (const { task, passed } of outcomes.toSorted((one, other) => one.passed - other.passed)) {
    const results = updated.get(task) ?? { rollouts: 0, passed: 0 };
    updated.set(task, { rollouts: results.rollouts + 1, passed: results.passed + passed });
  }
  return updated;
}

/** The pass rate of a task with one passed and one failed rollout added (Laplace's rule of succession); 0.5 without results. */
export function smoothedPassRate(results: TaskResults | undefined): number {
  const { rollouts, passed } = results ?? { rollouts: 0, passed: 0 };
  return (passed + 1) / (rollouts + 2);
}
