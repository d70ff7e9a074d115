import { agentPathText, type ModelCall, type ModelCallChoice } from '@agentlightning/core';

/** Log-probabilities are at most 0; engines round. */
const logprobTolerance = 1e-3;

/** Why a choice of a model call cannot be trained on; null when it can. */
export function exclusionReason(
  call: ModelCall,
  choice: ModelCallChoice,
  agents: readonly string[] | null,
): string | null {
  const { responseTokenIds, responseLogprobs } = choice;
  if (!call.isTrainable) return call.untrainableReason ?? 'untrainable';
  if (agents !== null && !isOneOf(agents, call)) return 'other_agent';
  if (call.promptTokenIds.length === 0) return 'no_prompt_tokens';
  if (responseTokenIds.length === 0) return 'empty_response';
  if (responseLogprobs.length !== responseTokenIds.length) return 'missing_logprobs';
  if (!responseLogprobs.every((logprob) => Number.isFinite(logprob) && logprob <= logprobTolerance)) {
    return 'invalid_logprobs';
  }
  // A greedy choice was not drawn from the policy's distribution: it has no probability ratio.
  if (!(call.temperature > 0)) return 'greedy';
  return null;
}

/** Whether a call was made by one of these agents, each said by its name or its whole path. */
export function isOneOf(agents: readonly string[], { agentName, agentPath }: ModelCall): boolean {
  if (agentName !== null && agents.includes(agentName)) return true;
  return agentPath !== null && agents.includes(agentPathText(agentPath));
}
