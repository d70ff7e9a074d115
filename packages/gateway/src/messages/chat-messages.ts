import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import { isJsonList, objectsOf, textOf } from '../http/json-access.ts';
import { badRequest, notTranslatable, optionalText } from '../model-api/bad-request.ts';
import { partsOrText, plainContent } from '../model-api/chat-content.ts';
import { unsealedReasoning } from '../model-api/sealed-reasoning.ts';
import { argumentsText } from './tool-input.ts';

/**
 * The messages of an Anthropic request as chat messages: results of tools become messages of their own.
 *
 * @throws GatewayError 400 for blocks that only Anthropic can make something of
 */
export function chatMessages(messages: readonly JsonObject[]): readonly JsonObject[] {
  return messages.flatMap((message, index) => {
    const place = `messages.${index}`;
    const content = partsOrText(message.content);
    if (content === null) throw badRequest(`${place}.content`, `${place}.content is neither a text nor a list`);
    const blocks = typeof content === 'string' ? null : blocksOf(content, `${place}.content`);
    switch (message.role) {
      case 'user':
        return blocks === null ? [{ role: 'user', content }] : userMessages(blocks, `${place}.content`);
      case 'assistant':
        return [blocks === null ? { role: 'assistant', content } : assistantMessage(blocks, `${place}.content`)];
      case 'system':
        return [{ role: 'system', content: systemText(content, `${place}.content`) }];
      default:
        throw badRequest(`${place}.role`, `${place}.role: ${JSON.stringify(message.role ?? null)} is no role`);
    }
  });
}

/**
 * The system prompt: a text, or blocks of text.
 *
 * @param place - where it stands in the request, for messages
 * @throws GatewayError 400 when something else is in it
 */
export function systemText(system: JsonValue | undefined, place: string): string {
  if (!isJsonList(system)) return optionalText(system, place) ?? '';
  return blocksOf(system, place)
    .map((block, index) => {
      const text = textOf(block.text);
      if (text === null) throw badRequest(`${place}.${index}`, `${place}.${index} is not a block of text`);
      return text;
    })
    .filter((text) => text !== '')
    .join('\n\n');
}

function blocksOf(content: readonly JsonValue[], place: string): readonly JsonObject[] {
  return content.map((block, index) => {
    if (!isJsonObject(block)) throw badRequest(`${place}.${index}`, `${place}.${index} is not an object`);
    return block;
  });
}

function userMessages(blocks: readonly JsonObject[], place: string): readonly JsonObject[] {
  const messages: JsonObject[] = [];
  const parts: JsonObject[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block.type === 'tool_result') messages.push(toolMessage(block, `${place}.${index}`));
    else parts.push(...chatParts(block, `${place}.${index}`));
  }
  // Results answer the calls right before them, so they come first, wherever they stand among the blocks.
  return parts.length > 0 ? [...messages, { role: 'user', content: plainContent(parts) }] : messages;
}

function toolMessage(block: JsonObject, place: string): JsonObject {
  const id = textOf(block.tool_use_id);
  if (id === null || id === '') throw badRequest(`${place}.tool_use_id`, `${place}.tool_use_id is missing`);
  const content = partsOrText(block.content) ?? '';
  return {
    role: 'tool',
    tool_call_id: id,
    content:
      typeof content === 'string'
        ? content
        : plainContent(
            blocksOf(content, `${place}.content`).flatMap((part, index) =>
              chatParts(part, `${place}.content.${index}`),
            ),
          ),
  };
}

function assistantMessage(blocks: readonly JsonObject[], place: string): JsonObject {
  const texts: string[] = [];
  const thoughts: string[] = [];
  const calls: JsonObject[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block.type === 'text') texts.push(textOf(block.text) ?? '');
    else if (block.type === 'thinking') thoughts.push(thoughtsOf(block));
    else if (block.type === 'tool_use') calls.push(toolCall(block));
    else if (block.type !== 'redacted_thinking') throw unknownBlock(block, `${place}.${index}`);
  }
  return {
    role: 'assistant',
    content: texts.length > 0 || calls.length === 0 ? texts.join('') : null,
    ...(thoughts.length > 0 ? { reasoning_content: thoughts.join('\n') } : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

/** Thoughts that the client was not to see are in the signature. */
function thoughtsOf({ thinking, signature }: JsonObject): string {
  return textOf(thinking) || (unsealedReasoning(textOf(signature)) ?? '');
}

function toolCall({ id, name, input }: JsonObject): JsonObject {
  return { id: id ?? '', type: 'function', function: { name: name ?? '', arguments: argumentsText(input) } };
}

function chatParts(block: JsonObject, place: string): readonly JsonObject[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: block.text ?? '' }];
    case 'image':
      return [{ type: 'image_url', image_url: { url: imageUrl(block.source, place) } }];
    case 'document':
      return documentParts(block, place);
    case 'search_result':
      return [
        ...texts([`${textOf(block.title) ?? ''}\n${textOf(block.source) ?? ''}`]),
        ...objectsOf(block.content).flatMap((part, index) => chatParts(part, `${place}.content.${index}`)),
      ];
    default:
      throw unknownBlock(block, place);
  }
}

function imageUrl(source: JsonValue | undefined, place: string): string {
  const { type, data, url, media_type: mediaType } = isJsonObject(source) ? source : {};
  if (type === 'base64' && typeof data === 'string') return `data:${textOf(mediaType) ?? 'image/png'};base64,${data}`;
  if (type === 'url' && typeof url === 'string') return url;
  throw notTranslatable(`${place}.source`, 'an image that Anthropic stores');
}

function documentParts(block: JsonObject, place: string): readonly JsonObject[] {
  const source = isJsonObject(block.source) ? block.source : {};
  const heading = texts([block.title, block.context].map((text) => textOf(text) ?? '').filter((text) => text !== ''));
  if (source.type === 'text') return [...heading, ...texts([textOf(source.data) ?? ''])];
  if (source.type !== 'content') throw notTranslatable(`${place}.source`, 'a document that is no plain text');
  if (typeof source.content === 'string') return [...heading, ...texts([source.content])];
  const parts = objectsOf(source.content);
  return [...heading, ...parts.flatMap((part, index) => chatParts(part, `${place}.source.content.${index}`))];
}

function texts(list: readonly string[]): readonly JsonObject[] {
  return list.map((text) => ({ type: 'text', text }));
}

function unknownBlock(block: JsonObject, place: string): Error {
  return notTranslatable(`${place}.type`, `a block of the type \`${textOf(block.type) ?? '?'}\``);
}
