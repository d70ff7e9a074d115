import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isList, isObject, numberOf, objectsOf, textOf } from '../../base/json-access.ts';
import { defaultSecretFields } from '../../redaction/secret-fields.ts';
import { toGenAiMessages, toGenAiOutputMessages } from '../../spans/gen-ai-messages.ts';
import { toGenAiResponseInput, toGenAiResponseOutput } from '../../spans/responses-messages.ts';
import type { Attributes, AttributeValue } from '../../spans/span.ts';
import { genAiAttributes } from '../../spans/span-attributes.ts';

/** Assigned one by one: every model call passes here, and spreading objects dominates the cost. */
type OwnAttributes = Record<string, AttributeValue>;

/**
 * Span attributes of a model request, without credentials: model, sampling parameters, and messages and tool
 * definitions as one JSON text each. For complete or partial bodies of Chat Completions and Responses.
 *
 * @param request - the body, or the part that a framework exposes
 */
export function modelRequestAttributes(request: JsonObject): Attributes {
  const { messages, input, tools } = defaultSecretFields.redact(request);
  const known = samplingOf(request);
  put(known, genAiAttributes.requestModel, textOf(request.model));
  if (messages !== undefined) known[genAiAttributes.inputMessages] = JSON.stringify(toGenAiMessages(messages));
  else if (input !== undefined) known[genAiAttributes.inputMessages] = JSON.stringify(toGenAiResponseInput(request));
  if (objectsOf(tools).length > 0) known[genAiAttributes.toolDefinitions] = JSON.stringify(tools);
  return known;
}

/** Sampling parameters of a request, where present. */
export function samplingAttributes(request: JsonObject): Attributes {
  return samplingOf(request);
}

function samplingOf(request: JsonObject): OwnAttributes {
  const known: OwnAttributes = {};
  const maxTokens = request.max_completion_tokens ?? request.max_tokens ?? request.max_output_tokens;
  put(known, genAiAttributes.requestTemperature, numberOf(request.temperature));
  put(known, genAiAttributes.requestTopP, numberOf(request.top_p));
  put(known, genAiAttributes.requestMaxTokens, numberOf(maxTokens));
  put(known, genAiAttributes.requestSeed, numberOf(request.seed));
  return known;
}

/** Token counts from a response's `usage`, in the field names of any supported API. */
export function usageAttributes({ usage }: JsonObject): Attributes {
  const known: OwnAttributes = {};
  putUsage(known, usage);
  return known;
}

function putUsage(known: OwnAttributes, usage: JsonValue | undefined): void {
  if (!isObject(usage)) return;
  put(known, genAiAttributes.usageInputTokens, numberOf(usage.prompt_tokens ?? usage.input_tokens));
  put(known, genAiAttributes.usageOutputTokens, numberOf(usage.completion_tokens ?? usage.output_tokens));
}

/**
 * Span attributes of a model response: id, model, messages, finish reasons and usage. For complete or partial bodies of
 * Chat Completions, Responses and Messages. The gateway records token ids and log-probabilities.
 *
 * @param response - the body, or the part that a framework exposes
 */
export function modelResponseAttributes(response: JsonObject): Attributes {
  const { choices, output } = response;
  const known: OwnAttributes = {};
  put(known, genAiAttributes.responseId, textOf(response.id));
  put(known, genAiAttributes.responseModel, textOf(response.model));
  const finishReasons = objectsOf(choices).map((choice) => textOf(choice.finish_reason) ?? '');
  if (finishReasons.some((reason) => reason !== '')) known[genAiAttributes.responseFinishReasons] = finishReasons;
  if (typeof response.stop_reason === 'string') known[genAiAttributes.responseFinishReasons] = [response.stop_reason];
  if (choices !== undefined || isList(response.content))
    known[genAiAttributes.outputMessages] = JSON.stringify(toGenAiOutputMessages(response));
  else if (output !== undefined) known[genAiAttributes.outputMessages] = JSON.stringify(toGenAiResponseOutput(output));
  putUsage(known, response.usage);
  return known;
}

/** Attributes without the hidden ones, such as those a user excludes from recording. */
export function withoutAttributes(attributes: Attributes, hidden: readonly string[]): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !hidden.includes(name)));
}

function put(known: OwnAttributes, name: string, value: AttributeValue | null): void {
  if (value !== null) known[name] = value;
}
