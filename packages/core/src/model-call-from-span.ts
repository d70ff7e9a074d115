import { agentPathFromText } from './agent-path.ts';
import type { JsonObject, JsonValue } from './json.ts';
import { isObject, numberOf, numbersOf } from './json-access.ts';
import type { ModelCall, ModelCallChoice } from './model-call.ts';
import type { Attributes, AttributeValue, Span } from './span.ts';
import {
  agentLightningAttributes,
  genAiAttributes,
  modelCallAttributes,
  pythonReaderAttributes,
} from './span-attributes.ts';

/**
 * The model call that a span records: the way back of `modelCallToSpan`.
 *
 * Spans of others count when they carry token ids (`prompt_token_ids`, `response_token_ids`), as those of
 * the Python proxies do; they may be trained on when there is a log-probability for every response token.
 *
 * @param span - any span
 * @returns null when the span records no captured model call, such as one that a framework adapter made
 *
 * @example
 * ```ts
 * const { items } = await store.querySpans({ rolloutId, attemptId: 'latest' });
 * const calls = items.map(modelCallFromSpan).filter((call) => call !== null);
 * ```
 */
export function modelCallFromSpan(span: Span): ModelCall | null {
  const { attributes } = span;
  const isOurs = typeof attributes[modelCallAttributes.isTrainable] === 'boolean';
  const hasTokens =
    numbers(attributes[modelCallAttributes.promptTokenIds]) !== null &&
    numbers(attributes[modelCallAttributes.responseTokenIds]) !== null;
  if (!isOurs && !hasTokens) return null;
  const promptTokenIds = numbers(attributes[modelCallAttributes.promptTokenIds]) ?? [];
  const choices = choicesOf(attributes);
  const agentPath = text(attributes[agentLightningAttributes.agentPath]);
  return {
    rolloutId: span.rolloutId,
    attemptId: span.attemptId,
    spanId: span.spanId,
    sequenceId: span.sequenceId,
    responseId: text(attributes[genAiAttributes.responseId]),
    model: text(attributes[genAiAttributes.requestModel]) ?? text(attributes[genAiAttributes.responseModel]) ?? '',
    policyVersion: number(attributes[modelCallAttributes.policyVersion]),
    agentName: text(attributes[genAiAttributes.agentName]) ?? text(attributes[pythonReaderAttributes.agentName]),
    agentPath: agentPath === null ? null : agentPathFromText(agentPath),
    promptTokenIds,
    choices,
    // OpenAI's default, and vLLM's.
    temperature: number(attributes[genAiAttributes.requestTemperature]) ?? 1,
    ...trainability(attributes, promptTokenIds, choices),
    request: jsonObject(attributes[modelCallAttributes.requestBody]),
    response: jsonObject(attributes[modelCallAttributes.responseBody]),
    startTimeMs: span.startTimeMs,
    endTimeMs: span.endTimeMs,
  };
}

function trainability(
  attributes: Attributes,
  promptTokenIds: readonly number[],
  choices: readonly ModelCallChoice[],
): Pick<ModelCall, 'isTrainable' | 'untrainableReason'> {
  const recorded = attributes[modelCallAttributes.isTrainable];
  if (typeof recorded === 'boolean') {
    return { isTrainable: recorded, untrainableReason: text(attributes[modelCallAttributes.untrainableReason]) };
  }
  const isComplete =
    promptTokenIds.length > 0 &&
    choices.every(
      (choice) =>
        choice.responseTokenIds.length > 0 && choice.responseTokenIds.length === choice.responseLogprobs.length,
    );
  return isComplete
    ? { isTrainable: true, untrainableReason: null }
    : {
        isTrainable: false,
        untrainableReason: 'the span does not have a log-probability for every response token',
      };
}

function choicesOf(attributes: Attributes): readonly ModelCallChoice[] {
  const recorded = everyOf(json(attributes[modelCallAttributes.choices]), choiceFrom);
  if (recorded !== null) return recorded;
  const finishReasons = attributes[genAiAttributes.responseFinishReasons];
  return [
    {
      index: 0,
      responseTokenIds: numbers(attributes[modelCallAttributes.responseTokenIds]) ?? [],
      responseLogprobs: numbers(attributes[modelCallAttributes.responseLogprobs]) ?? pythonLogprobs(attributes),
      finishReason: Array.isArray(finishReasons) ? text(finishReasons[0]) : null,
    },
  ];
}

/** One choice as `modelCallToSpan` writes it; null when it is anything else. */
function choiceFrom(choice: JsonObject): ModelCallChoice | null {
  const { index, response_token_ids: tokenIds, response_logprobs: logprobs, finish_reason: finishReason } = choice;
  const responseTokenIds = numbersOf(tokenIds);
  const responseLogprobs = numbersOf(logprobs);
  if (typeof index !== 'number' || responseTokenIds === null || responseLogprobs === null) return null;
  if (typeof finishReason !== 'string' && finishReason !== null) return null;
  return { index, responseTokenIds, responseLogprobs, finishReason };
}

function pythonLogprobs(attributes: Attributes): readonly number[] {
  return everyOf(json(attributes[pythonReaderAttributes.logprobs]), (entry) => numberOf(entry.logprob)) ?? [];
}

/** What was read of every entry of a list; null when it is no list, or when one entry could not be read. */
function everyOf<TRead>(
  list: JsonValue | undefined,
  read: (entry: JsonObject) => TRead | null,
): readonly TRead[] | null {
  if (!Array.isArray(list)) return null;
  const entries = list.map((entry: JsonValue) => (isObject(entry) ? read(entry) : null));
  return entries.every((entry) => entry !== null) ? entries : null;
}

function text(value: AttributeValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

function number(value: AttributeValue | undefined): number | null {
  return typeof value === 'number' ? value : null;
}

function numbers(value: AttributeValue | undefined): readonly number[] | null {
  const isList = Array.isArray(value) && value.every((entry) => typeof entry === 'number');
  return isList ? value : null;
}

function jsonObject(value: AttributeValue | undefined): JsonObject | null {
  const parsed = json(value);
  return isObject(parsed) ? parsed : null;
}

function json(value: AttributeValue | undefined): JsonValue | undefined {
  if (typeof value !== 'string') return undefined;
  try {
    return JSON.parse(value);
  } catch {
    // A body that was no JSON is kept as text in the span, and is not part of the call.
    return undefined;
  }
}
