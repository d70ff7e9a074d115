import type { StepRecord } from '../run/step-records.ts';

/** The steps of a run, with its policies and range of rewards. */
export interface StepHistory {
  /** All finished steps, in order. */
  readonly steps: readonly StepRecord[];
  /** The names of the trained policies; null for the only one of a run without named policies. */
  readonly policies: readonly (string | null)[];
  /** The lowest and the highest reward possible. */
  readonly range: readonly [low: number, high: number];
  /** Parts of the reward with a negative weight, which are to fall. @default none */
  readonly penalised?: ReadonlySet<string>;
}

/** A number of successive steps, as text. */
export function stepsText(steps: number): string {
  return steps === 1 ? '1 step' : `${steps} steps in a row`;
}
