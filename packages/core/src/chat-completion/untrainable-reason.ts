import type { JsonObject } from '../base/json.ts';
import { objectsOf, textOf } from '../base/json-access.ts';
import type { ModelCallChoice } from '../spans/model-call.ts';
import type { CapturedResponse } from './captured-response.ts';
import { isImagePart, isInlineImage, promptImages } from './prompt-images.ts';

/**
 * Why a response must not be used for training: its token data is missing or inconsistent. Training on other ids than
 * the sampled ones corrupts the policy, so every check must pass.
 *
 * @param request - the Chat Completions request; null if unknown
 * @param readsImages - whether the model is trained on images. Default: it is not
 * @returns null when it can be used for training
 */
export function untrainableReason(
  captured: CapturedResponse,
  request: JsonObject | null = null,
  readsImages = false,
): string | null {
  const input = unrepresentedInput(request ?? {}, readsImages);
  if (input !== null) return `the prompt has ${input}`;
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

/** What of a request its token ids do not represent: an image that the model is not trained on, audio, or a file; null for nothing. */
function unrepresentedInput(request: JsonObject, readsImages: boolean): string | null {
  const { messages, prompt_embeds: embeddings } = request;
  const represented = `its token ids do not represent: ${readsImages ? 'only text and images are' : 'only text is'} trained on`;
  if (embeddings !== undefined && embeddings !== null) return `embeddings (\`prompt_embeds\`), which ${represented}`;
  for (const { content } of objectsOf(messages)) {
    const part = objectsOf(content).find(
      (other) => !textParts.has(textOf(other.type) ?? 'text') && !(readsImages && isImagePart(other)),
    );
    if (part !== undefined) return `a part of the type \`${textOf(part.type)}\`, which ${represented}`;
  }
  const other = readsImages ? promptImages(request).find((url): boolean => !isInlineImage(url)) : undefined;
  if (other === undefined) return null;
  const form = other?.startsWith('data:') === true ? 'in another format than PNG, JPEG, WebP or GIF' : 'by its address';
  return `an image ${form}: send it as \`data:image/png;base64,…\` for training`;
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
