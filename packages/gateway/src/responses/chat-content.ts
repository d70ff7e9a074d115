import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import { badRequest, notTranslatable } from '../model-api/bad-request.ts';
import { partsOrText, plainContent } from '../model-api/content-parts.ts';
import { definedFields, textOf } from '../wire/json-access.ts';

/**
 * Converts the content of a Responses item to Chat Completions.
 *
 * @param path - its path in the request, for error messages
 * @throws GatewayError 400 for files and images stored at OpenAI
 */
export function chatContent(content: JsonValue | undefined, path: string): JsonValue {
  const parts = partsOrText(content);
  if (parts === null) throw badRequest(path, `${path} is neither a string nor a list of parts`);
  if (typeof parts === 'string') return parts;
  return plainContent(parts.map((part, index) => chatPart(part, `${path}[${index}]`)));
}

function chatPart(part: JsonValue, path: string): JsonObject {
  if (!isJsonObject(part)) throw badRequest(path, `${path} is not an object`);
  const { type } = part;
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: part.text ?? '' };
    case 'refusal':
      return { type: 'text', text: part.refusal ?? '' };
    case 'input_image':
      return imagePart(part, path);
    case 'input_audio':
      return { type, input_audio: part.input_audio ?? null };
    case 'input_file':
      return filePart(part, path);
    default:
      throw notTranslatable(`${path}.type`, `a part of the type \`${textOf(type) ?? '?'}\``);
  }
}

function imagePart(part: JsonObject, path: string): JsonObject {
  const url = textOf(part.image_url);
  if (url === null) throw notTranslatable(`${path}.file_id`, 'an image that OpenAI stores');
  const detail = textOf(part.detail);
  return { type: 'image_url', image_url: detail === null ? { url } : { url, detail } };
}

function filePart(part: JsonObject, path: string): JsonObject {
  const { file_data: data, filename } = part;
  if (typeof data !== 'string') throw notTranslatable(path, 'a file without its data');
  return { type: 'file', file: definedFields({ filename, file_data: data }) };
}
