import type { WarningName } from '@agentlightning/core/protocol';

/** Conditions that end a run before its last step. The held-out tasks are then evaluated, as after the last step. */
export interface StopConfig {
  /** The warnings that end the run. @default none */
  readonly warnings?: readonly WarningName[];
  /** Number of evaluations in a row without an improvement of the best reward; requires `evaluation.every`. @default unlimited */
  readonly patience?: number;
  /**
   * Minimum increase over the best previous evaluation that counts as an improvement, at least 0. `interval`: half of the 95
   * % confidence interval of the best evaluation, so that noise does not count.
   *
   * @default 0
   */
  readonly minDelta?: number | 'interval';
}
