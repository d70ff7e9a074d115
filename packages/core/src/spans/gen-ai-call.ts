import type { JsonObject, JsonValue } from '../base/json.ts';
import { isObject, objectsOf, parseObject, textOf } from '../base/json-access.ts';
import type { Attributes, AttributeValue, Span } from './span.ts';
import { genAiAttributes } from './span-attributes.ts';
import { unflattenAttributes } from './unflatten-attributes.ts';

/** The conversation of a model call, as chat messages. */
export interface RecordedConversation {
  readonly recorder: string;
  readonly messages: readonly JsonObject[];
  readonly reply: JsonObject;
}

/**
 * The conversation that a span records by OpenTelemetry's GenAI conventions (also Mastra's exporter and the steps of our
 * adapters), or as the AI SDK and OpenLLMetry do without them.
 *
 * @returns null for other spans
 */
export function recordedConversation(attributes: Attributes): RecordedConversation | null {
  return genAiConversation(attributes) ?? aiSdkConversation(attributes) ?? openLlmetryConversation(attributes);
}

function genAiConversation(attributes: Attributes): RecordedConversation | null {
  const operation = attributes[genAiAttributes.operationName];
  const messages = listOf(attributes[genAiAttributes.inputMessages]).flatMap(chatMessages);
  const [reply] = listOf(attributes[genAiAttributes.outputMessages]).flatMap(chatMessages);
  if (reply === undefined || messages.length === 0 || operation === 'invoke_agent') return null;
  const instructions = partsText(listOf(attributes['gen_ai.system_instructions']));
  const system = instructions === '' ? [] : [{ role: 'system', content: instructions }];
  return { recorder: 'OpenTelemetry', messages: [...system, ...messages], reply: { ...reply, role: 'assistant' } };
}

/** The spans of one request to a model: `ai.generateText.doGenerate` and its like. */
function aiSdkConversation(attributes: Attributes): RecordedConversation | null {
  if (!/\.do(Generate|Stream)$/.test(textOf(attributes['ai.operationId']) ?? '')) return null;
  const messages = listOf(attributes['ai.prompt.messages']).flatMap(chatMessages);
  if (messages.length === 0) return null;
  const calls = listOf(attributes['ai.response.toolCalls']).map((call) => ({ type: 'tool-call', ...call }));
  const text = textOf(attributes['ai.response.text']) ?? textOf(attributes['ai.response.object']);
  const [reply] = chatMessages({
    role: 'assistant',
    content: [...(text === null ? [] : [{ type: 'text', text }]), ...calls],
  });
  return reply === undefined ? null : { recorder: 'AI SDK', messages, reply };
}

function openLlmetryConversation(attributes: Attributes): RecordedConversation | null {
  const messages = flatMessages(attributes, 'gen_ai.prompt');
  const [reply] = flatMessages(attributes, 'gen_ai.completion');
  if (reply === undefined || messages.length === 0) return null;
  return { recorder: 'OpenLLMetry', messages, reply: { ...reply, role: 'assistant' } };
}

/** Messages as `gen_ai.prompt.0.role`, `.content`, `.tool_calls.0.name`. */
function flatMessages(attributes: Attributes, prefix: string): readonly JsonObject[] {
  // Restored attributes are JSON.
  const restored = unflattenAttributes(attributes, prefix) as JsonValue | undefined;
  return objectsOf(restored).map((message) => ({
    role: message.role ?? 'assistant',
    content: message.content ?? null,
    ...toolCalls(objectsOf(message.tool_calls)),
  }));
}

/** One message with `parts` or `content`, as chat messages: several results of tools in one message are one each. */
function chatMessages(message: JsonObject): readonly JsonObject[] {
  const { role = 'user', parts = message.content } = message;
  if (!Array.isArray(parts)) return [{ role, content: typeof parts === 'string' ? parts : null }];
  const list = objectsOf(parts);
  const results = list.filter(({ type }) => type === 'tool_call_response' || type === 'tool-result');
  if (results.length > 0) {
    return results.map((part) => ({
      role: 'tool',
      tool_call_id: part.id ?? part.toolCallId ?? null,
      content: plainText(part.response ?? part.result ?? resultValue(part.output)),
    }));
  }
  const calls = list.filter(({ type }) => type === 'tool_call' || type === 'tool-call');
  const text = partsText(list);
  return [{ role, content: text === '' && calls.length > 0 ? null : text, ...toolCalls(calls) }];
}

function resultValue(output: JsonValue | undefined): JsonValue {
  return isObject(output) && output.value !== undefined ? output.value : (output ?? null);
}

function toolCalls(calls: readonly JsonObject[]): JsonObject {
  if (calls.length === 0) return {};
  return {
    tool_calls: calls.map((call) => ({
      id: call.id ?? call.toolCallId ?? null,
      type: 'function',
      function: {
        name: call.name ?? call.toolName ?? null,
        arguments: plainText(call.arguments ?? call.input ?? call.args ?? {}),
      },
    })),
  };
}

function partsText(parts: readonly JsonObject[]): string {
  return parts
    .filter(({ type }) => type === 'text')
    .map(({ content, text }) => textOf(content ?? text) ?? '')
    .join('');
}

function plainText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function listOf(value: AttributeValue | undefined): readonly JsonObject[] {
  if (typeof value !== 'string') return [];
  try {
    return objectsOf(JSON.parse(value));
  } catch {
    return [];
  }
}

/** The kinds of spans of Mastra's exporter. */
const mastraKind = 'mastra.span.type';

/**
 * Adds the conversations to the model calls of Mastra's exporter. It records the messages of a generation once, and for the calls of its
 * steps only a preview, in which calls of tools are missing. The messages of a call follow from those of the generation, the responses of
 * the steps before it and the results of their tools. A call that follows a tool without a recorded result stays unchanged.
 */
export function withMastraConversations(spans: readonly Span[]): readonly Span[] {
  const generations = spans.filter(({ attributes }) => attributes[mastraKind] === 'model_generation');
  if (generations.length === 0) return spans;
  const completed = new Map(
    generations.flatMap((generation) => callsOf(generation, spans)).map((call) => [call.spanId, call]),
  );
  return spans.map((span) => completed.get(span.spanId) ?? span);
}

/** The calls of a generation, each with its messages and its response. */
function callsOf({ spanId, attributes }: Span, spans: readonly Span[]): readonly Span[] {
  const input = parseObject(textOf(attributes['mastra.model_generation.input']) ?? '');
  let messages = objectsOf(input?.messages);
  const calls: Span[] = [];
  if (messages.length === 0) return calls;
  const steps = childrenOf(spanId, spans).filter((span) => span.attributes[mastraKind] === 'model_step');
  for (const step of steps.toSorted((one, other) => indexOf(one) - indexOf(other))) {
    const within = childrenOf(step.spanId, spans);
    const reply = replyOf(step);
    const call = within.find((span) => span.attributes[mastraKind] === 'model_inference');
    if (call !== undefined && !(genAiAttributes.inputMessages in call.attributes)) {
      calls.push({ ...call, attributes: { ...call.attributes, ...conversation(messages, reply) } });
    }
    const results = resultsOf(reply, within);
    if (results === null) break;
    messages = [...messages, reply, ...results];
  }
  return calls;
}

function conversation(messages: readonly JsonObject[], reply: JsonObject): Readonly<Record<string, string>> {
  return {
    [genAiAttributes.inputMessages]: JSON.stringify(messages),
    [genAiAttributes.outputMessages]: JSON.stringify([reply]),
  };
}

/** The response of a step: that of its call has no calls of tools. */
function replyOf({ attributes }: Span): JsonObject {
  const { text, toolCalls } = parseObject(textOf(attributes['mastra.model_step.output']) ?? '') ?? {};
  const calls = objectsOf(toolCalls).map(({ toolCallId: id = null, toolName: name = null, args = {} }) => ({
    type: 'tool_call',
    id,
    name,
    arguments: args,
  }));
  const written = typeof text === 'string' && text !== '' ? [{ type: 'text', content: text }] : [];
  return { role: 'assistant', parts: [...written, ...calls] };
}

/** The results of the tools that a response has called; null where one is missing. */
function resultsOf({ parts }: JsonObject, within: readonly Span[]): readonly JsonObject[] | null {
  const calls = objectsOf(parts).filter(({ type }) => type === 'tool_call');
  const results = calls.map(({ id }): JsonObject | null => {
    const tool = within.find(({ attributes }) => attributes['gen_ai.tool.call.id'] === id);
    const response: JsonValue | null = textOf(tool?.attributes['gen_ai.tool.call.result']);
    return response === null
      ? null
      : { role: 'tool', parts: [{ type: 'tool_call_response', id: id ?? null, response }] };
  });
  return results.every(isObject) ? results : null;
}

function childrenOf(spanId: string, spans: readonly Span[]): readonly Span[] {
  return spans.filter(({ parentId }) => parentId === spanId);
}

function indexOf({ attributes }: Span): number {
  return Number(attributes['mastra.model_step.step_index'] ?? 0);
}
