import type { JsonObject } from '@agentlightning/core';
import { type Fields, fieldsOf, hasFields, plainText } from '@agentlightning/core/adapter';
import type { SdkPrompt, SdkResponse } from './sdk-events.ts';

/**
 * Converts an AI SDK prompt to the body of a Chat Completions request, the message format of traces. File content is
 * omitted.
 */
export function requestOf(prompt: SdkPrompt, promptMessages: unknown = undefined): JsonObject {
  const { instructions = prompt.system } = prompt;
  return json({
    model: modelIdOf(prompt),
    messages: [
      ...messageList('system', instructions),
      ...messageList('user', promptMessages ?? prompt.messages ?? prompt.prompt),
    ],
    tools: toolDefinitions(prompt.tools),
    temperature: prompt.temperature,
    top_p: prompt.topP,
    max_completion_tokens: prompt.maxOutputTokens,
    seed: prompt.seed,
  });
}

/** The requested model; the field name depends on the version. */
export function modelIdOf({ modelId, model }: SdkPrompt): string | undefined {
  return modelId ?? model?.modelId;
}

/** Converts a model response to the body of a Chat Completions response. */
export function responseBody(response: SdkResponse): JsonObject {
  const { content, finishReason, usage } = response;
  const message = content ?? response.objectText;
  const reason = fieldsOf(finishReason).unified ?? finishReason;
  return json({
    id: response.responseId ?? response.response?.id,
    model: response.response?.modelId ?? response.modelId,
    // OpenAI's spelling, which gateways use.
    choices:
      message === undefined
        ? message
        : [{ finish_reason: reason && String(reason).replace('-', '_'), message: assistantMessage(message) }],
    usage: {
      prompt_tokens: tokenCount(fieldsOf(usage).inputTokens ?? fieldsOf(usage).tokens),
      completion_tokens: tokenCount(fieldsOf(usage).outputTokens),
    },
  });
}

/** Undefined fields are kept, because readers and JSON ignore them. */
function json(body: Fields): JsonObject {
  return body as JsonObject;
}

/** A message list, or a single text of the given role. */
function messageList(role: string, messages: unknown): readonly Fields[] {
  return typeof messages === 'string' ? [{ role, content: messages }] : partsOf(messages).flatMap(message);
}

function message({ role, content }: Fields): readonly Fields[] {
  if (role === 'assistant') return [assistantMessage(content)];
  if (role === 'tool') return partsOf(content).flatMap(toolResult);
  return [{ role, content: typeof content === 'string' ? content : partsOf(content).map(userPart) }];
}

/** An assistant message from a text, or from the parts of a message, a response or an event. */
function assistantMessage(content: unknown): Fields {
  let text = '';
  let reasoning = '';
  const calls: Fields[] = [];
  for (const part of typeof content === 'string' ? [{ type: 'text', text: content }] : partsOf(content)) {
    if (part.type === 'tool-call') calls.push(toolCall(part));
    else if (part.type === 'text') text += String(part.text ?? '');
    else if (part.type === 'reasoning') reasoning += String(part.text ?? '');
  }
  return {
    role: 'assistant',
    content: text,
    reasoning_content: reasoning || undefined,
    tool_calls: calls,
  };
}

function toolCall({ toolCallId, toolName, input = '' }: Fields): Fields {
  return { id: toolCallId, type: 'function', function: { name: toolName, arguments: plainText(input) } };
}

function toolResult({ type, toolCallId, output }: Fields): readonly Fields[] {
  if (type !== 'tool-result') return [];
  return [{ role: 'tool', tool_call_id: toolCallId, content: plainText(fieldsOf(output).value ?? output) }];
}

function userPart({ type, text, image, data = image, mediaType }: Fields): Fields {
  if (type === 'text') return { type, text };
  // Binary content is omitted: converted to a string, it would be many times as long.
  const address = ArrayBuffer.isView(data) ? '' : String(fieldsOf(data).url ?? data);
  const url = /^https?:/.test(address) ? address : `data:${mediaType ?? 'application/octet-stream'}`;
  return { type: 'image_url', image_url: { url } };
}

/** From a list of definitions, or from tools by name, whose schemas may be opaque library objects. */
function toolDefinitions(tools: unknown): readonly Fields[] {
  if (Array.isArray(tools)) return partsOf(tools).map(toolDefinition);
  return Object.entries(fieldsOf(tools)).map(([name, tool]) => {
    const { description, inputSchema } = fieldsOf(tool);
    return toolDefinition({ name, description, inputSchema: fieldsOf(inputSchema).jsonSchema });
  });
}

function toolDefinition({ name, description, inputSchema }: Fields): Fields {
  return { type: 'function', function: { name, description, parameters: inputSchema } };
}

/** Events have a number, providers an object with the total. */
function tokenCount(count: unknown): unknown {
  return fieldsOf(count).total ?? count;
}

function partsOf(value: unknown): readonly Fields[] {
  return (Array.isArray(value) ? value : [value]).filter(hasFields);
}
