import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import { badRequest, notTranslatable, optionalText } from '../model-api/bad-request.ts';
import { partsOrText, plainContent } from '../model-api/content-parts.ts';
import { decodeReasoning } from '../model-api/opaque-reasoning.ts';
import { isJsonList, objectOf, objectsOf, textOf } from '../wire/json-access.ts';
import { argumentsText } from './tool-input.ts';

/**
 * Converts the messages of an Anthropic request to chat messages: tool results become separate messages. Blocks of
 * tools that run at Anthropic become text.
 *
 * @param changes - receives which blocks became text
 * @throws GatewayError 400 for images and documents that a chat engine cannot read
 */
export function chatMessages(messages: readonly JsonObject[], changes: string[] = []): readonly JsonObject[] {
  return messages.flatMap((message, index) => {
    const path = `messages.${index}`;
    const content = partsOrText(message.content);
    if (content === null) throw badRequest(`${path}.content`, `${path}.content is neither a string nor a list`);
    const blocks = typeof content === 'string' ? null : blocksOf(content, `${path}.content`);
    switch (message.role) {
      case 'user':
        return blocks === null ? [{ role: 'user', content }] : userMessages(blocks, `${path}.content`, changes);
      case 'assistant':
        return [
          blocks === null ? { role: 'assistant', content } : assistantMessage(blocks, `${path}.content`, changes),
        ];
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

function userMessages(blocks: readonly JsonObject[], path: string, changes: string[]): readonly JsonObject[] {
  const messages: JsonObject[] = [];
  const parts: JsonObject[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block.type === 'tool_result') messages.push(toolMessage(block, `${path}.${index}`, changes));
    else parts.push(...chatParts(block, `${path}.${index}`, changes));
  }
  // Results must follow their tool calls directly, so they come first, whatever their position among the blocks.
  return parts.length > 0 ? [...messages, { role: 'user', content: plainContent(parts) }] : messages;
}

function toolMessage(block: JsonObject, path: string, changes: string[]): JsonObject {
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
            blocksOf(content, `${path}.content`).flatMap((part, index) =>
              chatParts(part, `${path}.content.${index}`, changes),
            ),
          ),
  };
}

function assistantMessage(blocks: readonly JsonObject[], path: string, changes: string[]): JsonObject {
  const texts: string[] = [];
  const thoughts: string[] = [];
  const calls: JsonObject[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block.type === 'text') texts.push(textOf(block.text) ?? '');
    else if (block.type === 'thinking') thoughts.push(thoughtsOf(block));
    else if (block.type === 'tool_use') calls.push(toolCall(block));
    else if (block.type !== 'redacted_thinking') texts.push(`\n${blockText(block, `${path}.${index}`, changes)}\n`);
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

function chatParts(block: JsonObject, path: string, changes: string[]): readonly JsonObject[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: block.text ?? '' }];
    case 'image':
      return [{ type: 'image_url', image_url: { url: imageUrl(block.source, path) } }];
    case 'document':
      return documentParts(block, path, changes);
    case 'tool_reference':
      // The client defines the tool in the same request.
      return texts([`Tool available: ${textOf(block.tool_name) ?? ''}`]);
    case 'search_result':
      return [
        ...texts([`${textOf(block.title) ?? ''}\n${textOf(block.source) ?? ''}`]),
        ...objectsOf(block.content).flatMap((part, index) => chatParts(part, `${path}.content.${index}`, changes)),
      ];
    default:
      return texts([blockText(block, path, changes)]);
  }
}

function imageUrl(source: JsonValue | undefined, path: string): string {
  const { type, data, url, media_type: mediaType } = isJsonObject(source) ? source : {};
  if (type === 'base64' && typeof data === 'string') return `data:${textOf(mediaType) ?? 'image/png'};base64,${data}`;
  if (type === 'url' && typeof url === 'string') return url;
  throw notTranslatable(`${path}.source`, 'an image that Anthropic stores');
}

function documentParts(block: JsonObject, path: string, changes: string[]): readonly JsonObject[] {
  const source = isJsonObject(block.source) ? block.source : {};
  const heading = texts([block.title, block.context].map((text) => textOf(text) ?? '').filter((text) => text !== ''));
  if (source.type === 'text') return [...heading, ...texts([textOf(source.data) ?? ''])];
  if (source.type !== 'content') throw notTranslatable(`${path}.source`, 'a document other than plain text');
  if (typeof source.content === 'string') return [...heading, ...texts([source.content])];
  const parts = objectsOf(source.content);
  return [...heading, ...parts.flatMap((part, index) => chatParts(part, `${path}.source.content.${index}`, changes))];
}

function texts(list: readonly string[]): readonly JsonObject[] {
  return list.map((text) => ({ type: 'text', text }));
}

/** Blocks of tools that run at Anthropic. */
const serverBlocks = /_tool_use$|_tool_result$|^container_upload$|^compaction$/;

/** A block of a tool that runs at Anthropic as text: its texts, titles and addresses, or its JSON. */
function blockText(block: JsonObject, path: string, changes: string[]): string {
  const type = textOf(block.type) ?? '?';
  if (!serverBlocks.test(type)) throw notTranslatable(`${path}.type`, `a block of the type \`${type}\``);
  changes.push(`${path}: ${type} as text`);
  if (type === 'server_tool_use' || type === 'mcp_tool_use') {
    return `${textOf(block.name) ?? type}(${JSON.stringify(block.input ?? {})})`;
  }
  if (!type.endsWith('_tool_result')) return JSON.stringify(block);
  const results = isJsonList(block.content) ? objectsOf(block.content) : [objectOf(block.content)];
  return results.map(resultText).join('\n');
}

/** The readable fields of a result; encrypted ones are for Anthropic only. */
function resultText(result: JsonObject): string {
  const { title, url, text, stdout, stderr, error_code: error } = result;
  const lines = [title, url, text, stdout, stderr, error].map(textOf).filter((line) => line !== null && line !== '');
  return lines.length > 0 ? lines.join('\n') : JSON.stringify(result);
}
