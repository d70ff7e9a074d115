import { type PassRates, smoothedPassRate } from '../run/pass-rates.ts';

/**
 * The probability of each task to be drawn first: `floor / n + (1 − floor) · p · (1 − p) / Σ p · (1 − p)`, with the smoothed pass
 * rate `p`. Their sum is 1.
 *
 * @param count - the number of tasks, at least 1
 */
export function taskWeights(rates: PassRates, count: number, floor: number): readonly number[] {
  const priorities = Array.from({ length: count }, (_, task) => {
    const rate = smoothedPassRate(rates.get(task));
    return rate * (1 - rate);
  });
  const total = priorities.reduce((sum, priority) => sum + priority, 0);
  return priorities.map((priority) => floor / count + ((1 - floor) * priority) / total);
}

/** The number of equally likely tasks that are as concentrated: `1 / Σ w²` (Kish's effective sample size). */
export function effectiveTasks(weights: readonly number[]): number {
  return 1 / weights.reduce((sum, weight) => sum + weight * weight, 0);
}
