import type { JsonObject } from '@agentlightning/core';
import { assistantMessage, type Fields, fieldsOf, partsOf, plainText } from '@agentlightning/core/internal';
import type { SdkPrompt } from './sdk-events.ts';

/**
 * Converts an AI SDK prompt to the body of a Chat Completions request, the message format of traces. File content is
 * omitted.
 */
export function requestOf(prompt: SdkPrompt, promptMessages: unknown = undefined): JsonObject {
  const { instructions = prompt.system } = prompt;
  const request: Fields = {
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
  };
  // Undefined fields are kept, because readers and JSON ignore them.
  return request as JsonObject;
}

/** The requested model; the field name depends on the version. */
export function modelIdOf({ modelId, model }: SdkPrompt): string | undefined {
  return modelId ?? model?.modelId;
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
