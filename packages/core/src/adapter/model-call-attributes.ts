import { toGenAiMessages, toGenAiOutputMessages } from '../gen-ai-messages.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { isObject, numberOf, objectsOf, textOf } from '../json-access.ts';
import { defaultSecretFields } from '../redaction/secret-fields.ts';
import { toGenAiResponseInput, toGenAiResponseOutput } from '../responses-messages.ts';
import type { Attributes, AttributeValue } from '../span.ts';
import { genAiAttributes } from '../span-attributes.ts';

/** Attributes are set one by one: every model call comes by here, and to spread objects takes longer than all the rest. */
type OwnAttributes = Record<string, AttributeValue>;

/**
 * What a request to a model says, without credentials, as attributes of its span: model, sampling, messages and tool definitions as one JSON
 * each. For bodies of Chat Completions and of Responses, whole or in part.
 *
 * @param request - the body, or what a framework shows of it
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

/** How a request asks to be sampled, as far as it says so. */
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

/** How many tokens an answer's `usage` counts, as any of the APIs names them. */
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
 * What a model's answer says, as attributes of its span: id, model, messages, finish reasons and usage. For bodies of Chat
 * Completions and of Responses, whole or in part. Token ids and log-probabilities are the gateway's to record.
 *
 * @param answer - the body, or what a framework shows of it
 */
export function modelAnswerAttributes(answer: JsonObject): Attributes {
  const { choices, output } = answer;
  const known: OwnAttributes = {};
  put(known, genAiAttributes.responseId, textOf(answer.id));
  put(known, genAiAttributes.responseModel, textOf(answer.model));
  const finishReasons = objectsOf(choices).map((choice) => textOf(choice.finish_reason) ?? '');
  if (finishReasons.some((reason) => reason !== '')) known[genAiAttributes.responseFinishReasons] = finishReasons;
  if (choices !== undefined) known[genAiAttributes.outputMessages] = JSON.stringify(toGenAiOutputMessages(answer));
  else if (output !== undefined) known[genAiAttributes.outputMessages] = JSON.stringify(toGenAiResponseOutput(output));
  putUsage(known, answer.usage);
  return known;
}

/** Attributes without some of them, such as those that a user does not want to be recorded. */
export function withoutAttributes(attributes: Attributes, hidden: readonly string[]): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !hidden.includes(name)));
}

function put(known: OwnAttributes, name: string, value: AttributeValue | null): void {
  if (value !== null) known[name] = value;
}
