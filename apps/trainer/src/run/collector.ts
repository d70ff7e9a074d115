import { z } from 'zod';
import type { FinishedRollout } from '../results/finished-rollout.ts';

/** The rollouts of a training step. */
export interface CollectedStep {
  readonly rollouts: readonly FinishedRollout[];
  /**
   * Finished rollouts that are not trained on: of groups without a learning signal that were replaced, and of groups that
   * are too stale. Their rewards count in the reward of the step: without them it would measure the selection.
   */
  readonly setAside: readonly FinishedRollout[];
  /** Metrics of the collection, by name. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** The position in the stream of groups that a resumed run continues from. */
export interface CollectionState {
  /** The index of the next new group. */
  readonly nextGroup: number;
  /** The indices of the groups in progress, ascending. */
  readonly openGroups: readonly number[];
  /** Those that repeat the task of a dropped group of their index: index, number of the repetition, task. */
  readonly repeating: readonly (readonly [index: number, repeat: number, task: number])[];
}

/** Validates a {@link CollectionState}. */
export const collectionStateSchema: z.ZodType<CollectionState> = z.object({
  nextGroup: z.int().min(0),
  openGroups: z.array(z.int().min(0)),
  // Absent in older states.
  repeating: z.array(z.tuple([z.int(), z.int(), z.int()])).default([]),
});

/** Collects the rollouts of training steps. */
export interface Collector {
  /**
   * Waits for the rollouts of a step.
   *
   * @param step - from 1; the last finished step plus one
   * @throws the abort reason when the run is stopped or one of its dependencies fails
   */
  collect(step: number): Promise<CollectedStep>;
  /** The position to resume from; null when the steps are independent. */
  state(): CollectionState | null;
  /** Cancels the rollouts that no step will take. */
  close(): Promise<void>;
}
