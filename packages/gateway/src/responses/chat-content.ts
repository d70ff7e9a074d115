import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import { definedFields, textOf } from '../http/json-access.ts';
import { badRequest, notTranslatable } from '../model-api/bad-request.ts';
import { partsOrText, plainContent } from '../model-api/chat-content.ts';

/**
 * The content of a Responses item in the form of Chat Completions.
 *
 * @param place - where it stands in the request, for messages
 * @throws GatewayError 400 for files and images that only OpenAI has
 */
export function chatContent(content: JsonValue | undefined, place: string): JsonValue {
  const parts = partsOrText(content);
  if (parts === null) throw badRequest(place, `${place} is neither a text nor a list of parts`);
  if (typeof parts === 'string') return parts;
  return plainContent(parts.map((part, index) => chatPart(part, `${place}[${index}]`)));
}

function chatPart(part: JsonValue, place: string): JsonObject {
  if (!isJsonObject(part)) throw badRequest(place, `${place} is not an object`);
  const { type } = part;
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: part.text ?? '' };
    case 'refusal':
      return { type: 'text', text: part.refusal ?? '' };
    case 'input_image':
      return imagePart(part, place);
    case 'input_audio':
      return { type, input_audio: part.input_audio ?? null };
    case 'input_file':
      return filePart(part, place);
    default:
      throw notTranslatable(`${place}.type`, `a part of the type \`${textOf(type) ?? '?'}\``);
  }
}

function imagePart(part: JsonObject, place: string): JsonObject {
  const url = textOf(part.image_url);
  if (url === null) throw notTranslatable(`${place}.file_id`, 'an image that OpenAI stores');
  const detail = textOf(part.detail);
  return { type: 'image_url', image_url: detail === null ? { url } : { url, detail } };
}

function filePart(part: JsonObject, place: string): JsonObject {
  const { file_data: data, filename } = part;
  if (typeof data !== 'string') throw notTranslatable(place, 'a file without its data');
  return { type: 'file', file: definedFields({ filename, file_data: data }) };
}
