import { AgentLightningError } from '@agentlightning/core';
import type { OptimizerMessage, PromptSet } from '@agentlightning/core/algorithm';
import { promptOfReply } from './optimizer-replies.ts';
import { assertSameVariables, withLiteralBraces } from './prompt-variables.ts';
import type { Questions } from './search-budget.ts';

/** How often a model is asked again for a prompt that the agent could not use. */
export const corrections = 2;

/** What to rewrite, and what to ask for it. */
export interface RewriteRequest {
  readonly prompts: PromptSet;
  /** Which of the prompts. */
  readonly name: string;
  readonly messages: readonly OptimizerMessage[];
  readonly temperature: number;
}

/**
 * Asks for a new version of one prompt. A version that is empty, lacks a variable of the original, or has another, is
 * sent back with what is wrong with it.
 *
 * @returns the set with the new prompt; null when the model could not do it, changed nothing, or may not be asked again
 */
export async function rewritePrompt(questions: Questions, request: RewriteRequest): Promise<PromptSet | null> {
  const { prompts, name, temperature } = request;
  const original = prompts[name];
  if (original === undefined) return null;
  let messages = request.messages;
  for (let attempt = 0; attempt <= corrections; attempt += 1) {
    const reply = await questions.ask(messages, temperature);
    if (reply === null) return null;
    const rewritten = { ...original, template: withLiteralBraces(original, promptOfReply(reply)) };
    const fault =
      rewritten.template === '' ? 'There is no prompt in it.' : faultOf(() => assertSameVariables(original, rewritten));
    if (fault === null) return rewritten.template === original.template ? null : { ...prompts, [name]: rewritten };
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
