/**
 * How token losses become one number, of which every variant is a weighted sum:
 *
 * - `token-mean`: `w = 1 / (trained tokens of the update)`. Every token counts the same, so a rollout counts by
 *   its length. That is the policy gradient, which sums over the tokens of a rollout, up to a factor that is the
 *   same for all tokens; the factor makes the step size independent of how long rollouts are.
 * - `rollout-mean`: `w = 1 / (rollouts · trained tokens of the rollout)`. Every rollout counts the same whatever its
 *   number of rows, so a token counts less the longer its rollout: short successes and long failures are favoured
 *   (the length bias that Dr. GRPO describes, arXiv 2503.20783).
 * - `token-sum`: `w = 1 / rollouts`. The policy gradient itself, without bias; its size grows with the length of the
 *   rollouts, which gradient clipping then has to take back.
 */
export type Aggregation = 'token-mean' | 'rollout-mean' | 'token-sum';

/** All aggregations. */
export const aggregations: readonly ['token-mean', 'rollout-mean', 'token-sum'] = [
  'token-mean',
  'rollout-mean',
  'token-sum',
];

/**
 * The weight of each trained token of each rollout, so that the runtime only has to sum. Rollouts of which
 * nothing is trained do not count.
 *
 * @param trainedTokens - how many tokens are trained, for each rollout of the update
 * @returns one weight for each rollout: all of its tokens have the same
 */
export function tokenWeights(trainedTokens: readonly number[], aggregation: Aggregation): readonly number[] {
  const rollouts = trainedTokens.filter((tokens) => tokens > 0).length;
  const allTokens = trainedTokens.reduce((sum, tokens) => sum + tokens, 0);
  return trainedTokens.map((tokens) => {
    if (tokens === 0) return 0;
    return 1 / { 'token-mean': allTokens, 'rollout-mean': rollouts * tokens, 'token-sum': rollouts }[aggregation];
  });
}
