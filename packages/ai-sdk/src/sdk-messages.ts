import type { JsonObject, JsonValue } from '@agentlightning/core';
import type { SdkAnswer, SdkPrompt } from './sdk-events.ts';

type Part = Readonly<Record<string, unknown>>;

/**
 * A prompt of the AI SDK as the body of a Chat Completions request, which is the form that traces have messages in.
 * Files are named, not repeated.
 */
export function requestOf(prompt: SdkPrompt, promptMessages: unknown = undefined): JsonObject {
  const messages = [
    ...instructionMessages(prompt.instructions ?? prompt.system),
    ...messageList(promptMessages ?? prompt.messages ?? prompt.prompt),
  ];
  const tools = toolDefinitions(prompt.tools);
  return {
    ...(prompt.modelId === undefined ? {} : { model: prompt.modelId }),
    ...(messages.length === 0 ? {} : { messages }),
    ...(tools.length === 0 ? {} : { tools }),
    ...(prompt.temperature === undefined ? {} : { temperature: prompt.temperature }),
    ...(prompt.topP === undefined ? {} : { top_p: prompt.topP }),
    ...(prompt.maxOutputTokens === undefined ? {} : { max_completion_tokens: prompt.maxOutputTokens }),
    ...(prompt.seed === undefined ? {} : { seed: prompt.seed }),
  };
}

/** A model's answer as the body of a Chat Completions answer. */
export function answerOf(answer: SdkAnswer): JsonObject {
  const id = answer.responseId ?? answer.response?.id;
  const model = answer.response?.modelId ?? answer.modelId;
  const content = answer.content ?? (answer.objectText === undefined ? undefined : answer.objectText);
  const usage = usageOf(answer.usage);
  const finishReason = finishReasonOf(answer.finishReason);
  return {
    ...(id === undefined ? {} : { id }),
    ...(model === undefined ? {} : { model }),
    ...(content === undefined
      ? {}
      : { choices: [{ finish_reason: finishReason, message: assistantMessage(content) }] }),
    ...(usage === null ? {} : { usage }),
  };
}

/** A text as it is, anything else as JSON. */
export function plainText(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // Circular, or a big integer: the agent must not notice that there is no JSON of it.
    return Object.prototype.toString.call(value);
  }
}

function instructionMessages(instructions: unknown): readonly JsonObject[] {
  if (instructions === undefined || instructions === null) return [];
  if (typeof instructions === 'string') return [{ role: 'system', content: instructions }];
  return messageList(Array.isArray(instructions) ? instructions : [instructions]);
}

function messageList(messages: unknown): readonly JsonObject[] {
  if (typeof messages === 'string') return [{ role: 'user', content: messages }];
  return partsOf(messages).flatMap(message);
}

function message({ role, content }: Part): readonly JsonObject[] {
  if (role === 'assistant') return [assistantMessage(content)];
  if (role === 'tool') return partsOf(content).flatMap(toolResult);
  const plain = typeof content === 'string' ? content : partsOf(content).map(userPart);
  return [{ role: typeof role === 'string' ? role : 'user', content: plain }];
}

/** Whatever an assistant said, from a text, or from the parts of a message, an answer or an event. */
function assistantMessage(content: unknown): JsonObject {
  if (typeof content === 'string') return { role: 'assistant', content };
  const parts = partsOf(content);
  const text = textOf(parts, 'text');
  const reasoning = textOf(parts, 'reasoning');
  const calls = parts.filter(({ type }) => type === 'tool-call').map(toolCall);
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function toolCall({ toolCallId, toolName, input }: Part): JsonObject {
  return {
    id: String(toolCallId),
    type: 'function',
    function: { name: String(toolName), arguments: plainText(input ?? '') },
  };
}

function toolResult({ type, toolCallId, output }: Part): readonly JsonObject[] {
  if (type !== 'tool-result') return [];
  const value = isPart(output) && 'value' in output ? output.value : output;
  return [{ role: 'tool', tool_call_id: String(toolCallId), content: plainText(value ?? '') }];
}

function userPart(part: Part): JsonObject {
  if (part.type === 'text') return { type: 'text', text: String(part.text) };
  const url = urlOf(part.image ?? part.data);
  if (url !== null) return { type: 'image_url', image_url: { url } };
  return { type: 'image_url', image_url: { url: `data:${String(part.mediaType ?? 'application/octet-stream')}` } };
}

/** An address that is short enough to repeat; null for the bytes themselves. */
function urlOf(data: unknown): string | null {
  if (isPart(data) && data.type === 'url') return urlOf(data.url);
  const text = data instanceof URL ? data.href : data;
  return typeof text === 'string' && /^https?:/.test(text) ? text : null;
}

/** From a list of definitions, or from the user's tools by name. */
function toolDefinitions(tools: unknown): readonly JsonObject[] {
  if (Array.isArray(tools)) return tools.filter(isPart).map(toolDefinition);
  if (!isPart(tools)) return [];
  return Object.entries(tools).map(([name, tool]) => toolDefinition(isPart(tool) ? named(name, tool) : { name }));
}

/** A user's tool as a definition. A schema that is not JSON Schema is for the user's library to read. */
function named(name: string, { description, inputSchema }: Part): Part {
  const schema = isPart(inputSchema) ? inputSchema.jsonSchema : undefined;
  return { name, description, ...(isPart(schema) && !('then' in schema) ? { inputSchema: schema } : {}) };
}

function toolDefinition({ name, description, inputSchema }: Part): JsonObject {
  return {
    type: 'function',
    function: {
      name: String(name),
      ...(typeof description === 'string' ? { description } : {}),
      ...(isPart(inputSchema) ? { parameters: inputSchema as JsonObject } : {}),
    },
  };
}

/** The gateway's spelling, which is OpenAI's. */
function finishReasonOf(reason: unknown): JsonValue {
  const unified = isPart(reason) ? reason.unified : reason;
  return typeof unified === 'string' ? unified.replace('-', '_') : null;
}

function usageOf(usage: unknown): JsonObject | null {
  if (!isPart(usage)) return null;
  const input = tokenCount(usage.inputTokens ?? usage.tokens);
  const output = tokenCount(usage.outputTokens);
  if (input === null && output === null) return null;
  return {
    ...(input === null ? {} : { prompt_tokens: input }),
    ...(output === null ? {} : { completion_tokens: output }),
  };
}

/** A number in events, the details with their total where it comes from the provider. */
function tokenCount(count: unknown): number | null {
  const total = isPart(count) ? count.total : count;
  return typeof total === 'number' && Number.isFinite(total) ? total : null;
}

function textOf(parts: readonly Part[], type: string): string {
  return parts
    .filter((part) => part.type === type)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('');
}

function partsOf(value: unknown): readonly Part[] {
  return Array.isArray(value) ? value.filter(isPart) : [];
}

function isPart(value: unknown): value is Part {
  return typeof value === 'object' && value !== null;
}
