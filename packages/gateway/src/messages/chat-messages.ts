import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import { isJsonList, objectsOf, textOf } from '../http/json-access.ts';
import { badRequest, notTranslatable, optionalText } from '../model-api/bad-request.ts';
import { partsOrText, plainContent } from '../model-api/content-parts.ts';
import { decodeReasoning } from '../model-api/opaque-reasoning.ts';
import { argumentsText } from './tool-input.ts';

/**
 * Converts the messages of an Anthropic request to chat messages: tool results become separate messages.
 *
 * @throws GatewayError 400 for blocks that only Anthropic supports
 */
export function chatMessages(messages: readonly JsonObject[]): readonly JsonObject[] {
  return messages.flatMap((message, index) => {
    const path = `messages.${index}`;
    const content = partsOrText(message.content);
    if (content === null) throw badRequest(`${path}.content`, `${path}.content is neither a string nor a list`);
    const blocks = typeof content === 'string' ? null : blocksOf(content, `${path}.content`);
    switch (message.role) {
      case 'user':
        return blocks === null ? [{ role: 'user', content }] : userMessages(blocks, `${path}.content`);
      case 'assistant':
        return [blocks === null ? { role: 'assistant', content } : assistantMessage(blocks, `${path}.content`)];
      case 'system':
        return [{ role: 'system', content: systemText(content, `${path}.content`) }];
      default:
        throw badRequest(`${path}.role`, `${path}.role: ${JSON.stringify(message.role ?? null)} is not a role`);
    }
  });
}

/**
 * Joins the system prompt: a string, or text blocks.
 *
 * @param path - its path in the request, for error messages
 * @throws GatewayError 400 for other content
 */
export function systemText(system: JsonValue | undefined, path: string): string {
  if (!isJsonList(system)) return optionalText(system, path) ?? '';
  return blocksOf(system, path)
    .map((block, index) => {
      const text = textOf(block.text);
      if (text === null) throw badRequest(`${path}.${index}`, `${path}.${index} is not a text block`);
      return text;
    })
    .filter((text) => text !== '')
    .join('\n\n');
}

function blocksOf(content: readonly JsonValue[], path: string): readonly JsonObject[] {
  return content.map((block, index) => {
    if (!isJsonObject(block)) throw badRequest(`${path}.${index}`, `${path}.${index} is not an object`);
    return block;
  });
}

function userMessages(blocks: readonly JsonObject[], path: string): readonly JsonObject[] {
  const messages: JsonObject[] = [];
  const parts: JsonObject[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block.type === 'tool_result') messages.push(toolMessage(block, `${path}.${index}`));
    else parts.push(...chatParts(block, `${path}.${index}`));
  }
  // Results must follow their tool calls directly, so they come first, whatever their position among the blocks.
  return parts.length > 0 ? [...messages, { role: 'user', content: plainContent(parts) }] : messages;
}

function toolMessage(block: JsonObject, path: string): JsonObject {
  const id = textOf(block.tool_use_id);
  if (id === null || id === '') throw badRequest(`${path}.tool_use_id`, `${path}.tool_use_id is missing`);
  const content = partsOrText(block.content) ?? '';
  return {
    role: 'tool',
    tool_call_id: id,
    content:
      typeof content === 'string'
        ? content
        : plainContent(
            blocksOf(content, `${path}.content`).flatMap((part, index) => chatParts(part, `${path}.content.${index}`)),
          ),
  };
}

function assistantMessage(blocks: readonly JsonObject[], path: string): JsonObject {
  const texts: string[] = [];
  const thoughts: string[] = [];
  const calls: JsonObject[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block.type === 'text') texts.push(textOf(block.text) ?? '');
    else if (block.type === 'thinking') thoughts.push(thoughtsOf(block));
    else if (block.type === 'tool_use') calls.push(toolCall(block));
    else if (block.type !== 'redacted_thinking') throw unknownBlock(block, `${path}.${index}`);
  }
  return {
    role: 'assistant',
    content: texts.length > 0 || calls.length === 0 ? texts.join('') : null,
    ...(thoughts.length > 0 ? { reasoning_content: thoughts.join('\n') } : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

/** Reasoning hidden from the client is in the signature. */
function thoughtsOf({ thinking, signature }: JsonObject): string {
  return textOf(thinking) || (decodeReasoning(textOf(signature)) ?? '');
}

function toolCall({ id, name, input }: JsonObject): JsonObject {
  return { id: id ?? '', type: 'function', function: { name: name ?? '', arguments: argumentsText(input) } };
}

function chatParts(block: JsonObject, path: string): readonly JsonObject[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: block.text ?? '' }];
    case 'image':
      return [{ type: 'image_url', image_url: { url: imageUrl(block.source, path) } }];
    case 'document':
      return documentParts(block, path);
    case 'search_result':
      return [
        ...texts([`${textOf(block.title) ?? ''}\n${textOf(block.source) ?? ''}`]),
        ...objectsOf(block.content).flatMap((part, index) => chatParts(part, `${path}.content.${index}`)),
      ];
    default:
      throw unknownBlock(block, path);
  }
}

function imageUrl(source: JsonValue | undefined, path: string): string {
  const { type, data, url, media_type: mediaType } = isJsonObject(source) ? source : {};
  if (type === 'base64' && typeof data === 'string') return `data:${textOf(mediaType) ?? 'image/png'};base64,${data}`;
  if (type === 'url' && typeof url === 'string') return url;
  throw notTranslatable(`${path}.source`, 'an image that Anthropic stores');
}

function documentParts(block: JsonObject, path: string): readonly JsonObject[] {
  const source = isJsonObject(block.source) ? block.source : {};
  const heading = texts([block.title, block.context].map((text) => textOf(text) ?? '').filter((text) => text !== ''));
  if (source.type === 'text') return [...heading, ...texts([textOf(source.data) ?? ''])];
  if (source.type !== 'content') throw notTranslatable(`${path}.source`, 'a document other than plain text');
  if (typeof source.content === 'string') return [...heading, ...texts([source.content])];
  const parts = objectsOf(source.content);
  return [...heading, ...parts.flatMap((part, index) => chatParts(part, `${path}.source.content.${index}`))];
}

function texts(list: readonly string[]): readonly JsonObject[] {
  return list.map((text) => ({ type: 'text', text }));
}

function unknownBlock(block: JsonObject, path: string): Error {
  return notTranslatable(`${path}.type`, `a block of the type \`${textOf(block.type) ?? '?'}\``);
}
