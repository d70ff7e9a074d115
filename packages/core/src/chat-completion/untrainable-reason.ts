import type { JsonObject } from '../base/json.ts';
import { objectsOf, textOf } from '../base/json-access.ts';
import type { ModelCallChoice } from '../spans/model-call.ts';
import type { CapturedResponse } from './captured-response.ts';

/**
 * Why a response must not be used for training: its token data is missing or inconsistent. Training on other ids than
 * the sampled ones corrupts the policy, so every check must pass.
 *
 * @param request - the Chat Completions request; null if unknown
 * @returns null when it can be used for training
 */
export function untrainableReason(captured: CapturedResponse, request: JsonObject | null = null): string | null {
  const input = unrepresentedInput(request ?? {});
  if (input !== null) return `the prompt has ${input}, which its token ids do not represent: only text is trained on`;
  const { promptTokenIds, choices, usage } = captured;
  if (promptTokenIds.length === 0) return 'the upstream gave no prompt token ids';
  if (!promptTokenIds.every(isTokenId)) return 'a prompt token id is not a whole number of 0 or more';
  for (const choice of choices) {
    const reason = choiceReason(choice);
    if (reason !== null) return `choice ${choice.index}: ${reason}`;
  }
  if (captured.hasMixedPolicyVersions) return 'the weights changed while the response was generated';
  if (usage === null) return null;
  if (usage.inputTokens !== promptTokenIds.length) {
    return `${promptTokenIds.length} prompt token ids, but the usage says ${usage.inputTokens}`;
  }
  const outputTokens = choices.reduce((sum, choice) => sum + choice.responseTokenIds.length, 0);
  if (usage.outputTokens !== outputTokens) {
    return `${outputTokens} response token ids, but the usage says ${usage.outputTokens}`;
  }
  return null;
}

/** Content parts that the token ids of a prompt represent. */
const textParts: ReadonlySet<string> = new Set(['text', 'input_text', 'output_text', 'refusal', 'thinking']);

/** An image, audio or file in a request, whose token ids are placeholders; null for none. */
function unrepresentedInput({ messages, prompt_embeds: embeddings }: JsonObject): string | null {
  if (embeddings !== undefined && embeddings !== null) return 'embeddings (`prompt_embeds`)';
  for (const { content } of objectsOf(messages)) {
    const type = objectsOf(content)
      .map((part) => textOf(part.type) ?? 'text')
      .find((other) => !textParts.has(other));
    if (type !== undefined) return `a part of the type \`${type}\``;
  }
  return null;
}

function choiceReason(choice: ModelCallChoice): string | null {
  const { responseTokenIds, responseLogprobs, responsePolicyVersions, finishReason } = choice;
  if (responseTokenIds.length === 0) return 'the upstream gave no response token ids';
  if (!responseTokenIds.every(isTokenId)) return 'a response token id is not a whole number of 0 or more';
  if (responseLogprobs.length !== responseTokenIds.length) {
    return `${responseTokenIds.length} response token ids, but ${responseLogprobs.length} log-probabilities`;
  }
  if (!responseLogprobs.every(Number.isFinite)) return 'a log-probability is not a finite number';
  if (responsePolicyVersions !== undefined && responsePolicyVersions.length !== responseTokenIds.length) {
    return `${responseTokenIds.length} response token ids, but ${responsePolicyVersions.length} policy versions`;
  }
  if (finishReason === null) return 'it ended without a finish reason';
  return null;
}

function isTokenId(value: number): boolean {
  return Number.isInteger(value) && value >= 0;
}
