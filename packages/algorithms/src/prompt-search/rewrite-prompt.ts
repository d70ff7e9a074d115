import { AgentLightningError } from '@agentlightning/core';
import type { OptimizerMessage, PromptSet } from '@agentlightning/core/algorithm';
import { promptOfReply } from './optimizer-replies.ts';
import { assertSameVariables, withLiteralBraces } from './prompt-variables.ts';
import type { LimitedOptimizer } from './search-budget.ts';

/** Maximum number of requests for a correction of an invalid prompt. */
export const corrections = 2;

/** A prompt to rewrite and the messages of the request. */
export interface RewriteRequest {
  readonly prompts: PromptSet;
  /** Name of the prompt in the set. */
  readonly name: string;
  readonly messages: readonly OptimizerMessage[];
  readonly temperature: number;
  /** Whether a version of the search has these prompts. */
  readonly isKnown: (prompts: PromptSet) => boolean;
}

/**
 * Requests a new version of one prompt. For a version that is empty or does not have exactly the variables of the original,
 * a correction is requested.
 *
 * @returns the set with the new prompt; null when no version is valid, it is a known one, or the budget is used up
 */
export async function rewritePrompt(optimizer: LimitedOptimizer, request: RewriteRequest): Promise<PromptSet | null> {
  const { prompts, name, temperature } = request;
  const original = prompts[name];
  if (original === undefined) return null;
  let messages = request.messages;
  for (let attempt = 0; attempt <= corrections; attempt += 1) {
    const reply = await optimizer.complete(messages, temperature);
    if (reply === null) return null;
    const rewritten = { ...original, template: withLiteralBraces(original, promptOfReply(reply)) };
    const fault =
      rewritten.template === ''
        ? 'There is no prompt between <prompt> and </prompt> in it.'
        : faultOf(() => assertSameVariables(original, rewritten));
    const proposed = { ...prompts, [name]: rewritten };
    const isNew = fault === null && !request.isKnown(proposed);
    optimizer.judged({ fault, isNew });
    if (fault === null) return isNew ? proposed : null;
    messages = [...request.messages, { role: 'user', content: `You replied:\n\n${reply}\n\n${fault}` }];
  }
  return null;
}

function faultOf(check: () => void): string | null {
  try {
    check();
    return null;
  } catch (error) {
    if (AgentLightningError.isInstance(error)) return `${error.message}. ${error.remedy}`;
    throw error;
  }
}
