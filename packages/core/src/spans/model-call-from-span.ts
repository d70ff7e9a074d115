import type { JsonObject, JsonValue } from '../base/json.ts';
import { isObject, numberOf, numbersOf, textOf } from '../base/json-access.ts';
import { agentPathFromText } from './agent-path.ts';
import { foreignModelCall } from './foreign-model-call.ts';
import type { ModelCall, ModelCallChoice } from './model-call.ts';
import type { Attributes, AttributeValue, Span } from './span.ts';
import {
  agentLightningAttributes,
  genAiAttributes,
  modelCallAttributes,
  pythonReaderAttributes,
} from './span-attributes.ts';

/**
 * Reads the model call that a span records: the inverse of `modelCallToSpan`.
 *
 * Spans of other recorders count when they carry token ids (`prompt_token_ids`, `response_token_ids`), such as those of
 * the Python proxies; they are trainable with a log-probability for every response token. Those of OpenInference and Langfuse
 * count without token ids, and are not trainable.
 *
 * @param given - any span
 * @returns null when the span is not a captured model call, such as a step of a framework adapter
 *
 * @example
 * ```ts
 * const { items } = await store.querySpans({ rolloutId, attemptId: 'latest' });
 * const calls = items.map(modelCallFromSpan).filter((call) => call !== null);
 * ```
 */
export function modelCallFromSpan(given: Span): ModelCall | null {
  const foreign = foreignModelCall(given);
  const span = foreign ?? given;
  const { attributes } = span;
  const isOurs = typeof attributes[modelCallAttributes.isTrainable] === 'boolean';
  const prompt = numbers(attributes[modelCallAttributes.promptTokenIds]);
  const response = numbers(attributes[modelCallAttributes.responseTokenIds]);
  if (!isOurs && foreign === null && (prompt === null || response === null)) return null;
  const promptTokenIds = prompt ?? [];
  const choices = choicesOf(attributes, response ?? []);
  const bodies = new RecordedBodies(attributes);
  const agentPath = textOf(attributes[agentLightningAttributes.agentPath]);
  return {
    rolloutId: span.rolloutId,
    attemptId: span.attemptId,
    spanId: span.spanId,
    sequenceId: span.sequenceId,
    responseId: textOf(attributes[genAiAttributes.responseId]),
    ...modelsOf(attributes),
    policyVersion: numberOf(attributes[modelCallAttributes.policyVersion]),
    agentName: textOf(attributes[genAiAttributes.agentName]) ?? textOf(attributes[pythonReaderAttributes.agentName]),
    agentPath: agentPath === null ? null : agentPathFromText(agentPath),
    promptTokenIds,
    ...imageCountOf(attributes[modelCallAttributes.imageCount]),
    choices,
    // The default of OpenAI and vLLM.
    temperature: numberOf(attributes[genAiAttributes.requestTemperature]) ?? 1,
    ...trainability(attributes, promptTokenIds, choices),
    ...alteredSamplingOf(attributes[modelCallAttributes.alteredSampling]),
    get request() {
      return bodies.request;
    },
    get response() {
      return bodies.response;
    },
    startTimeMs: span.startTimeMs,
    endTimeMs: span.endTimeMs,
  };
}

function modelsOf(attributes: Attributes): Pick<ModelCall, 'model' | 'responseModel'> {
  const response = textOf(attributes[genAiAttributes.responseModel]);
  const model = textOf(attributes[genAiAttributes.requestModel]) ?? response ?? '';
  return response === null || response === model ? { model } : { model, responseModel: response };
}

function imageCountOf(recorded: AttributeValue | undefined): Pick<ModelCall, 'imageCount'> {
  return typeof recorded === 'number' ? { imageCount: recorded } : {};
}

function alteredSamplingOf(recorded: AttributeValue | undefined): Pick<ModelCall, 'alteredSampling'> {
  const names = Array.isArray(recorded) ? recorded.filter((name) => typeof name === 'string') : [];
  return names.length === 0 ? {} : { alteredSampling: names };
}

/** Bodies of a call, parsed on access: they are long, and token training does not read them. */
class RecordedBodies {
  readonly #attributes: Attributes;
  #request: JsonObject | null | undefined;
  #response: JsonObject | null | undefined;

  constructor(attributes: Attributes) {
    this.#attributes = attributes;
  }

  get request(): JsonObject | null {
    if (this.#request === undefined) this.#request = jsonObject(this.#attributes[modelCallAttributes.requestBody]);
    return this.#request;
  }

  get response(): JsonObject | null {
    if (this.#response === undefined) this.#response = jsonObject(this.#attributes[modelCallAttributes.responseBody]);
    return this.#response;
  }
}

function trainability(
  attributes: Attributes,
  promptTokenIds: readonly number[],
  choices: readonly ModelCallChoice[],
): Pick<ModelCall, 'isTrainable' | 'untrainableReason'> {
  const recorded = attributes[modelCallAttributes.isTrainable];
  if (typeof recorded === 'boolean') {
    return { isTrainable: recorded, untrainableReason: textOf(attributes[modelCallAttributes.untrainableReason]) };
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
        untrainableReason:
          textOf(attributes[modelCallAttributes.untrainableReason]) ??
          'the span does not have a log-probability for every response token',
      };
}

function choicesOf(attributes: Attributes, responseTokenIds: readonly number[]): readonly ModelCallChoice[] {
  const recorded = everyOf(json(attributes[modelCallAttributes.choices]), choiceFrom);
  if (recorded !== null) return recorded;
  const finishReasons = attributes[genAiAttributes.responseFinishReasons];
  const policyVersions = numbers(attributes[modelCallAttributes.responsePolicyVersions]);
  return [
    {
      index: 0,
      responseTokenIds,
      responseLogprobs: numbers(attributes[modelCallAttributes.responseLogprobs]) ?? pythonLogprobs(attributes),
      ...(policyVersions && { responsePolicyVersions: policyVersions }),
      finishReason: Array.isArray(finishReasons) ? textOf(finishReasons[0]) : null,
    },
  ];
}

/** One choice in the form of `modelCallToSpan`; null for other values. */
function choiceFrom(choice: JsonObject): ModelCallChoice | null {
  const { index, response_token_ids: tokenIds, response_logprobs: logprobs, finish_reason: finishReason } = choice;
  const responseTokenIds = numbersOf(tokenIds);
  const responseLogprobs = numbersOf(logprobs);
  const responsePolicyVersions = numbersOf(choice.response_policy_versions);
  if (typeof index !== 'number' || responseTokenIds === null || responseLogprobs === null) return null;
  if (typeof finishReason !== 'string' && finishReason !== null) return null;
  return {
    index,
    responseTokenIds,
    responseLogprobs,
    ...(responsePolicyVersions && { responsePolicyVersions }),
    finishReason,
  };
}

function pythonLogprobs(attributes: Attributes): readonly number[] {
  return everyOf(json(attributes[pythonReaderAttributes.logprobs]), (entry) => numberOf(entry.logprob)) ?? [];
}

/** Maps every entry of a list; null for other values, or when the mapping of an entry is null. */
function everyOf<TRead>(
  list: JsonValue | undefined,
  read: (entry: JsonObject) => TRead | null,
): readonly TRead[] | null {
  if (!Array.isArray(list)) return null;
  const entries = list.map((entry: JsonValue) => (isObject(entry) ? read(entry) : null));
  return entries.every((entry) => entry !== null) ? entries : null;
}

function numbers(value: AttributeValue | undefined): readonly number[] | null {
  if (!Array.isArray(value)) return null;
  const entries: readonly unknown[] = value;
  // A plain loop: it runs over every token of every call.
  for (let index = 0; index < entries.length; index += 1) if (typeof entries[index] !== 'number') return null;
  return value as readonly number[];
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
    // A body that is not JSON is kept as text in the span, and is not part of the call.
    return undefined;
  }
}
