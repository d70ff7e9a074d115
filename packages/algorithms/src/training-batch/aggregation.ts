import { z } from 'zod';

/**
 * Aggregation of token losses, as a weighted sum:
 *
 * - `token-mean`: `w = 1 / (trained tokens of the update)`. Every token has the same weight. This is the policy gradient,
 *   which sums over the tokens of a rollout, up to a constant factor that makes the step size independent of rollout length.
 *   (DAPO, arXiv 2503.14476.)
 * - `seq-mean`: `w = 1 / (rows · trained tokens of the row)`. Every row has the same weight, so the weight of a rollout is
 *   proportional to its number of rows. For rollouts of one row it equals `rollout-mean`. (GRPO as in DeepSeekMath, arXiv
 *   2402.03300.)
 * - `rollout-mean`: `w = 1 / (rollouts · trained tokens of the rollout)`. Every rollout has the same weight, so tokens of
 *   longer rollouts have a smaller weight: short successes and long failures are favoured (the length bias of Dr. GRPO,
 *   arXiv 2503.20783).
 * - `token-sum`: `w = 1 / rollouts`. The policy gradient itself, without bias; its norm grows with the length of the
 *   rollouts and must be limited by gradient clipping.
 * - `dr-grpo`: `w = 1 / (rollouts · tokens)` with a fixed number of tokens, such as the maximum response length: `token-sum`
 *   at the scale of a mean. (Dr. GRPO, arXiv 2503.20783.)
 */
export type Aggregation =
  | 'token-mean'
  | 'seq-mean'
  | 'rollout-mean'
  | 'token-sum'
  | { readonly type: 'dr-grpo'; readonly tokens: number };

/** The aggregations without parameters. */
export const aggregations: readonly ['token-mean', 'seq-mean', 'rollout-mean', 'token-sum'] = [
  'token-mean',
  'seq-mean',
  'rollout-mean',
  'token-sum',
];

/** The shape of {@link Aggregation}. */
export const aggregationSchema: z.ZodType<Aggregation> = z.union(
  [z.enum(aggregations), z.strictObject({ type: z.literal('dr-grpo'), tokens: z.int().min(1) })],
  { error: `must be one of ${aggregations.join(', ')}, or { type: "dr-grpo", tokens }` },
);

/**
 * The weight of each trained token; the runtime sums weighted losses. Rows and rollouts without trained tokens do not count.
 *
 * @param trainedTokens - `trainedTokens[rollout][row]`: number of trained tokens
 * @returns `weights[rollout][row]`: the weight of each token of the row
 */
export function tokenWeights(
  trainedTokens: readonly (readonly number[])[],
  aggregation: Aggregation,
): readonly (readonly number[])[] {
  const ofRollouts = trainedTokens.map(sum);
  const totals: Totals = {
    tokens: sum(ofRollouts),
    rows: trainedTokens.flat().filter((tokens) => tokens > 0).length,
    rollouts: ofRollouts.filter((tokens) => tokens > 0).length,
  };
  return trainedTokens.map((rows, rollout) =>
    rows.map((ofRow) =>
      ofRow === 0 ? 0 : 1 / divisor(aggregation, totals, { ofRow, ofRollout: ofRollouts[rollout] ?? 0 }),
    ),
  );
}

interface Totals {
  readonly tokens: number;
  readonly rows: number;
  readonly rollouts: number;
}

function divisor(
  aggregation: Aggregation,
  { tokens, rows, rollouts }: Totals,
  { ofRow, ofRollout }: { readonly ofRow: number; readonly ofRollout: number },
): number {
  if (typeof aggregation === 'object') return rollouts * aggregation.tokens;
  switch (aggregation) {
    case 'token-mean':
      return tokens;
    case 'seq-mean':
      return rows * ofRow;
    case 'rollout-mean':
      return rollouts * ofRollout;
    case 'token-sum':
      return rollouts;
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
