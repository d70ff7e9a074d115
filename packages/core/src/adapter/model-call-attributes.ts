import { toGenAiMessages, toGenAiOutputMessages } from '../gen-ai-messages.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { isObject, numberOf, objectsOf, textOf } from '../json-access.ts';
import { toGenAiResponseInput, toGenAiResponseOutput } from '../responses-messages.ts';
import type { Attributes, AttributeValue } from '../span.ts';
import { genAiAttributes } from '../span-attributes.ts';

type MaybeAttributes = Readonly<Record<string, AttributeValue | null>>;

/**
 * What a request to a model says, as attributes of its span: model, sampling, messages and tool definitions as one JSON
 * each. For bodies of Chat Completions and of Responses, whole or in part.
 *
 * @param request - the body, or what a framework shows of it
 */
export function modelRequestAttributes(request: JsonObject): Attributes {
  const { messages, input, tools } = request;
  const inputMessages = messages === undefined ? toGenAiResponseInput(request) : toGenAiMessages(messages);
  return known({
    ...samplingOf(request),
    [genAiAttributes.requestModel]: textOf(request.model),
    [genAiAttributes.inputMessages]:
      messages === undefined && input === undefined ? null : JSON.stringify(inputMessages),
    [genAiAttributes.toolDefinitions]: objectsOf(tools).length === 0 ? null : JSON.stringify(tools),
  });
}

/** How a request asks to be sampled, as far as it says so. */
export function samplingAttributes(request: JsonObject): Attributes {
  return known(samplingOf(request));
}

function samplingOf(request: JsonObject): MaybeAttributes {
  return {
    [genAiAttributes.requestTemperature]: numberOf(request.temperature),
    [genAiAttributes.requestTopP]: numberOf(request.top_p),
    [genAiAttributes.requestMaxTokens]: firstNumber(
      request.max_completion_tokens,
      request.max_tokens,
      request.max_output_tokens,
    ),
    [genAiAttributes.requestSeed]: numberOf(request.seed),
  };
}

/** How many tokens an answer's `usage` counts, as any of the APIs names them. */
export function usageAttributes({ usage }: JsonObject): Attributes {
  if (!isObject(usage)) return {};
  return known({
    [genAiAttributes.usageInputTokens]: firstNumber(usage.prompt_tokens, usage.input_tokens),
    [genAiAttributes.usageOutputTokens]: firstNumber(usage.completion_tokens, usage.output_tokens),
  });
}

/**
 * What a model's answer says, as attributes of its span: id, model, messages, finish reasons and usage. For bodies of Chat
 * Completions and of Responses, whole or in part. Token ids and log-probabilities are the gateway's to record.
 *
 * @param answer - the body, or what a framework shows of it
 */
export function modelAnswerAttributes(answer: JsonObject): Attributes {
  const { choices, output } = answer;
  const messages = choices === undefined ? toGenAiResponseOutput(output) : toGenAiOutputMessages(answer);
  const finishReasons = objectsOf(choices).map((choice) => textOf(choice.finish_reason) ?? '');
  return known({
    [genAiAttributes.responseId]: textOf(answer.id),
    [genAiAttributes.responseModel]: textOf(answer.model),
    [genAiAttributes.responseFinishReasons]: finishReasons.some((reason) => reason !== '') ? finishReasons : null,
    [genAiAttributes.outputMessages]: choices === undefined && output === undefined ? null : JSON.stringify(messages),
    ...usageAttributes(answer),
  });
}

/** Attributes without some of them, such as those that a user does not want to be recorded. */
export function withoutAttributes(attributes: Attributes, hidden: readonly string[]): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !hidden.includes(name)));
}

function firstNumber(...values: readonly (JsonValue | undefined)[]): number | null {
  for (const value of values) if (typeof value === 'number') return value;
  return null;
}

function known(attributes: MaybeAttributes): Attributes {
  const found: Record<string, AttributeValue> = {};
  for (const name of Object.keys(attributes)) {
    const value = attributes[name] ?? null;
    if (value !== null) found[name] = value;
  }
  return found;
}
