import type { ModelCall } from '@agentlightning/core';
import type { ModelCallChoice } from '@agentlightning/core/spans';

/** Log-probabilities are at most 0; engines round. */
const logprobTolerance = 1e-3;

/** Reason why a choice of a model call cannot be trained on; null when it can. */
export function exclusionReason(call: ModelCall, choice: ModelCallChoice): string | null {
  const { responseTokenIds, responseLogprobs } = choice;
  if (!call.isTrainable) return call.untrainableReason ?? 'untrainable';
  if (call.promptTokenIds.length === 0) return 'no_prompt_tokens';
  if (responseTokenIds.length === 0) return 'empty_response';
  if (responseLogprobs.length !== responseTokenIds.length) return 'missing_logprobs';
  if (!responseLogprobs.every((logprob) => Number.isFinite(logprob) && logprob <= logprobTolerance)) {
    return 'invalid_logprobs';
  }
  // A greedy choice was not sampled from the policy's distribution, so it has no probability ratio.
  if (!(call.temperature > 0)) return 'greedy';
  return null;
}
