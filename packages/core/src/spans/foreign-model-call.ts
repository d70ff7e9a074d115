import type { JsonObject, JsonValue } from '../base/json.ts';
import { isObject, objectsOf, parseObject, textOf } from '../base/json-access.ts';
import { recordedConversation } from './gen-ai-call.ts';
import { toGenAiMessages } from './gen-ai-messages.ts';
import type { Attributes, AttributeValue, Span } from './span.ts';
import { agentLightningAttributes, genAiAttributes, modelCallAttributes } from './span-attributes.ts';
import { unflattenAttributes } from './unflatten-attributes.ts';

/** The parts of a model call in the terms of another recorder. */
interface ForeignCall {
  readonly recorder: string;
  readonly model: AttributeValue | undefined;
  readonly messages: readonly JsonObject[];
  readonly tools: readonly JsonObject[];
  readonly reply: JsonObject;
  readonly responseId: string | null;
  readonly inputTokens: AttributeValue | undefined;
  readonly outputTokens: AttributeValue | undefined;
}

/**
 * A span of another recorder that is a model call, with the attributes of a framework adapter's step: kind, model, usage and
 * bodies. Recognises OpenInference (Python and JavaScript), Langfuse, OpenTelemetry's GenAI conventions, the AI SDK and OpenLLMetry.
 *
 * @returns null for other spans
 */
export function foreignModelCall(span: Span): Span | null {
  const call = openInferenceCall(span.attributes) ?? langfuseCall(span.attributes) ?? otherCall(span.attributes);
  return call === null ? null : modelCallSpan(span, call);
}

/**
 * A step of an adapter that no gateway and no `fetch` recorded, as in production, with the attributes of a captured call: for
 * data sets of conversations. It has no token ids and is not trainable.
 *
 * @returns null for steps without a conversation
 */
export function uncapturedModelCall(span: Span): Span | null {
  const call = conversationCall(span.attributes);
  if (call === null) return null;
  const recorded = modelCallSpan(span, call);
  return { ...recorded, attributes: { ...recorded.attributes, [modelCallAttributes.isTrainable]: false } };
}

function modelCallSpan(span: Span, call: ForeignCall): Span {
  const { messages, tools, reply, responseId: id } = call;
  const model = textOf(call.model) ?? '';
  const finishReason = span.status.code === 'ERROR' ? null : Array.isArray(reply.tool_calls) ? 'tool_calls' : 'stop';
  const request = { model, messages, ...(tools.length === 0 ? {} : { tools }) };
  const response = {
    ...(id === null ? {} : { id }),
    choices: [{ index: 0, message: reply, finish_reason: finishReason }],
  };
  const attributes: Readonly<Record<string, AttributeValue | null | undefined>> = {
    [genAiAttributes.operationName]: 'chat',
    [genAiAttributes.requestModel]: model,
    [genAiAttributes.responseId]: id,
    [genAiAttributes.responseFinishReasons]: finishReason === null ? null : [finishReason],
    [genAiAttributes.usageInputTokens]: call.inputTokens,
    [genAiAttributes.usageOutputTokens]: call.outputTokens,
    [agentLightningAttributes.stepKind]: 'model-call',
    [genAiAttributes.inputMessages]: JSON.stringify(toGenAiMessages(messages)),
    [genAiAttributes.outputMessages]: JSON.stringify(toGenAiMessages([reply])),
    [modelCallAttributes.requestBody]: JSON.stringify(request),
    [modelCallAttributes.responseBody]: JSON.stringify(response),
    [modelCallAttributes.untrainableReason]: `recorded by ${call.recorder}, without token ids`,
  };
  const given = Object.entries(attributes).flatMap(([name, value]): [string, AttributeValue][] =>
    value === null || value === undefined ? [] : [[name, value]],
  );
  return { ...span, attributes: { ...Object.fromEntries(given), ...span.attributes } };
}

/** Other conventions. Spans of this project are read by their attributes. */
function otherCall(attributes: Attributes): ForeignCall | null {
  const isOurs = agentLightningAttributes.stepKind in attributes || modelCallAttributes.isTrainable in attributes;
  return isOurs ? null : conversationCall(attributes);
}

function conversationCall(attributes: Attributes): ForeignCall | null {
  const conversation = recordedConversation(attributes);
  if (conversation === null) return null;
  return {
    ...conversation,
    model: attributes[genAiAttributes.requestModel] ?? attributes['ai.model.id'],
    tools: [],
    responseId: textOf(attributes[genAiAttributes.responseId]),
    inputTokens: attributes[genAiAttributes.usageInputTokens],
    outputTokens: attributes[genAiAttributes.usageOutputTokens],
  };
}

function openInferenceCall(attributes: Attributes): ForeignCall | null {
  if (attributes['openinference.span.kind'] !== 'LLM') return null;
  const output = jsonOf(attributes['output.value']);
  const [reply = { role: 'assistant', content: textOf(attributes['output.value']) }] = messagesUnder(
    attributes,
    'llm.output_messages',
  );
  const tools = objectsOf(asJson(unflattenAttributes(attributes, 'llm.tools'))).flatMap(({ tool }) => {
    const schema = isObject(tool) ? parseObject(textOf(tool.json_schema) ?? '') : null;
    return schema === null ? [] : [schema];
  });
  return {
    recorder: 'OpenInference',
    model: attributes['llm.model_name'],
    messages: messagesUnder(attributes, 'llm.input_messages'),
    tools,
    reply,
    responseId: isObject(output) ? textOf(output.id) : null,
    inputTokens: attributes['llm.token_count.prompt'],
    outputTokens: attributes['llm.token_count.completion'],
  };
}

/** Messages of OpenInference: `{prefix}.0.message.role`, `….tool_calls.0.tool_call.function.name`. */
function messagesUnder(attributes: Attributes, prefix: string): readonly JsonObject[] {
  return objectsOf(asJson(unflattenAttributes(attributes, prefix))).flatMap(({ message }) => {
    if (!isObject(message)) return [];
    const { tool_calls: calls, contents, ...fields } = message;
    const toolCalls = objectsOf(calls).map(({ tool_call: call }) => ({
      type: 'function',
      ...(isObject(call) ? call : {}),
    }));
    const texts = objectsOf(contents).map((part) =>
      isObject(part.message_content) ? textOf(part.message_content.text) : '',
    );
    return {
      ...(contents === undefined ? {} : { content: texts.join('') }),
      ...fields,
      ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
    };
  });
}

function langfuseCall(attributes: Attributes): ForeignCall | null {
  if (attributes['langfuse.observation.type'] !== 'generation') return null;
  const input = jsonOf(attributes['langfuse.observation.input']);
  const output = jsonOf(attributes['langfuse.observation.output']);
  const usage = jsonOf(attributes['langfuse.observation.usage_details']);
  const { input: inputTokens, output: outputTokens } = isObject(usage) ? usage : {};
  const reply = Array.isArray(output) ? output[0] : output;
  return {
    recorder: 'Langfuse',
    model: attributes['langfuse.observation.model.name'],
    messages:
      typeof input === 'string'
        ? [{ role: 'user', content: input }]
        : objectsOf(isObject(input) ? input.messages : input),
    tools: isObject(input) ? objectsOf(input.tools) : [],
    reply: isObject(reply) ? { role: 'assistant', ...reply } : { role: 'assistant', content: textOf(reply) },
    responseId: null,
    inputTokens: typeof inputTokens === 'number' ? inputTokens : undefined,
    outputTokens: typeof outputTokens === 'number' ? outputTokens : undefined,
  };
}

/** The JSON in an attribute; the text itself where it is not JSON. */
function jsonOf(value: AttributeValue | undefined): JsonValue | undefined {
  if (typeof value !== 'string') return undefined;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** Restored attributes are JSON: text, numbers, booleans, lists and objects. */
function asJson(value: unknown): JsonValue {
  return value as JsonValue;
}
