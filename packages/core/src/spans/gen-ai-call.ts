import type { JsonObject, JsonValue } from '../base/json.ts';
import { isObject, objectsOf, textOf } from '../base/json-access.ts';
import type { Attributes, AttributeValue } from './span.ts';
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
