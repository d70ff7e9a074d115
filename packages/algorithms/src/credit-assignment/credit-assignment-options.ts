import type { CreditAssignment, Trajectory } from '@agentlightning/core/algorithm';
import { z } from 'zod';
import { type ByAgentCreditOptions, byAgentCredit } from './by-agent-credit.ts';
import { type PerTurnCreditOptions, perTurnCredit } from './per-turn-credit.ts';

/**
 * Credits every turn with the reward of the rollout. The simplest assignment; it is unbiased, with more variance for turns
 * that did not affect the outcome.
 *
 * `G_k = R` for every turn `k` (LightningRL, arXiv 2508.03680, section 3.3: identical assignment).
 *
 * @example
 * ```ts
 * terminalCredit().assign(trajectory); // [[1, 1], [1]] for a trajectory of two rows with reward 1
 * ```
 */
export function terminalCredit(): CreditAssignment {
  return {
    name: 'terminal',
    scope: 'rollout',
    assign: ({ reward, rows }: Trajectory) =>
      reward === null ? null : rows.map((row) => row.trained.map(() => reward)),
  };
}

/**
 * Credits only the last turn: `G_K = R` for the last turn `K`. The other turns have no return and are not trained on. For
 * agents with given earlier turns, such as a recorded conversation.
 *
 * @example
 * ```ts
 * lastTurnCredit().assign(trajectory); // [[null, 1]] for a trajectory of one row with two turns and reward 1
 * ```
 */
export function lastTurnCredit(): CreditAssignment {
  return {
    name: 'last-turn',
    scope: 'rollout',
    assign: ({ reward, rows }: Trajectory) => {
      if (reward === null) return null;
      const last = rows.flatMap((row) => row.trained).reduce((max, turn) => Math.max(max, turn.sequenceId), -Infinity);
      return rows.map((row) => row.trained.map(({ sequenceId }) => (sequenceId === last ? reward : null)));
    },
  };
}

/** A credit assignment by name, with its options, as in a configuration file. */
export type CreditAssignmentOptions =
  | { readonly type: 'terminal' }
  | { readonly type: 'last-turn' }
  | ({ readonly type: 'by-agent' } & ByAgentCreditOptions)
  | ({ readonly type: 'per-turn' } & PerTurnCreditOptions);

/** The shape of {@link CreditAssignmentOptions}. */
export const creditAssignmentOptionsSchema: z.ZodType<CreditAssignmentOptions> = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('terminal') }),
  z.strictObject({ type: z.literal('last-turn') }),
  z.strictObject({ type: z.literal('by-agent'), team: z.number().min(0).exactOptional() }),
  z.strictObject({ type: z.literal('per-turn'), discount: z.number().min(0).max(1).exactOptional() }),
]);

/** Creates the credit assignment with these options. */
export function creditAssignment(options: CreditAssignmentOptions): CreditAssignment {
  switch (options.type) {
    case 'terminal':
      return terminalCredit();
    case 'last-turn':
      return lastTurnCredit();
    case 'by-agent':
      return byAgentCredit(options);
    case 'per-turn':
      return perTurnCredit(options);
  }
}
