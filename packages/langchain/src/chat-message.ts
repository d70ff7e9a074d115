import type { JsonObject, JsonValue } from '@agentlightning/core';
import { plainText } from '@agentlightning/core/internal';
import { jsonOf, textOf } from './framework-value.ts';

/** The fields that are read of LangChain's messages, in all versions and copies. */
export interface MessageLike {
  readonly type?: unknown;
  readonly getType?: () => unknown;
  readonly _getType?: () => unknown;
  readonly id?: unknown;
  readonly role?: unknown;
  readonly content?: unknown;
  readonly text?: unknown;
  readonly tool_call_id?: unknown;
  readonly tool_calls?: readonly ToolCallLike[] | undefined;
  readonly invalid_tool_calls?: readonly ToolCallLike[] | undefined;
  readonly additional_kwargs?: Readonly<Record<string, unknown>> | undefined;
  readonly response_metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly usage_metadata?: Readonly<Record<string, unknown>> | undefined;
}

interface ToolCallLike {
  readonly id?: unknown;
  readonly name?: unknown;
  readonly args?: unknown;
}

const roles: Readonly<Record<string, string>> = { human: 'user', ai: 'assistant' };

/** Content blocks that duplicate other fields of a message. */
const repeatedBlocks = new Set([
  'tool_call',
  'tool_call_chunk',
  'tool_use',
  'input_json_delta',
  'function_call',
  'invalid_tool_call',
]);

/** Converts a LangChain message to OpenAI's Chat Completions format. */
export function toChatMessage(message: MessageLike): JsonObject {
  const role = roleOf(message);
  const reasoning = reasoningOf(message);
  const calls = toolCallsOf(message);
  return {
    role,
    content: contentOf(message.content),
    ...(reasoning === null ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(role === 'tool' ? { tool_call_id: textOf(message.tool_call_id) } : {}),
  };
}

function roleOf(message: MessageLike): string {
  const type = message.getType?.() ?? message._getType?.() ?? message.type;
  const own = message.additional_kwargs?.['__openai_role__'] ?? (type === 'generic' ? message.role : undefined);
  return textOf(own) ?? roles[String(type)] ?? textOf(type) ?? 'user';
}

function contentOf(content: unknown): JsonValue {
  if (typeof content === 'string') return content;
  return blocksOf(content)
    .filter((block) => !repeatedBlocks.has(String(block.type)) && !isReasoning(block))
    .map(blockOf);
}

function blockOf({ type, text, image_url: image, url, mimeType }: Readonly<Record<string, unknown>>): JsonObject {
  if (typeof text === 'string') return { type: 'text', text };
  if (typeof image === 'object') return { type: 'image_url', image_url: jsonOf(image) };
  if (type !== 'image' && image === undefined) return { type: String(type) };
  return { type: 'image_url', image_url: { url: textOf(image) ?? textOf(url) ?? `data:${textOf(mimeType) ?? ''}` } };
}

/** The reasoning of a message; null without any. */
export function reasoningOf(message: MessageLike): string | null {
  const field = textOf(message.additional_kwargs?.['reasoning_content']);
  if (field !== null) return field;
  const texts = blocksOf(message.content)
    .filter(isReasoning)
    .map((block) => textOf(block.reasoning) ?? textOf(block.thinking) ?? '');
  return texts.length === 0 ? null : texts.join('');
}

function isReasoning(block: Readonly<Record<string, unknown>>): boolean {
  return block.type === 'reasoning' || block.type === 'thinking';
}

function blocksOf(content: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(content) ? content.filter((block) => typeof block === 'object' && block !== null) : [];
}

/** The tool calls, in the model's original text if available: serialising parsed arguments may change it. */
function toolCallsOf(message: MessageLike): readonly JsonObject[] {
  const raw = jsonOf(message.additional_kwargs?.['tool_calls']);
  if (Array.isArray(raw) && raw.length > 0) return raw;
  return [...(message.tool_calls ?? []), ...(message.invalid_tool_calls ?? [])].map(({ id, name, args }) => ({
    id: textOf(id),
    type: 'function',
    function: { name: textOf(name), arguments: plainText(args) },
  }));
}
