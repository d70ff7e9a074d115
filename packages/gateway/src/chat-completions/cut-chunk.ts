import { isJsonObject, type JsonObject, type JsonValue, parseJsonObject } from '@agentlightning/core';
import { isJsonList, objectOf } from '../http/json-access.ts';
import { type ChunkParts, noParts, type PartName, partReaders } from './chunk-parts.ts';
import { logprobsOpening } from './logprob-entries.ts';

/** A chunk of a stream with its parts cut out; in the place of each stands a mark. */
export interface CutChunk {
  /** What stands before each part, behind the one before it. */
  readonly places: readonly PartPlace[];
  /** What stands behind the last. */
  readonly after: string;
  readonly parts: ChunkParts;
  /** The field of the delta that has the text; null when there is none. */
  readonly textName: string | null;
  readonly body: JsonObject;
  /** The one choice of the body. */
  readonly choice: JsonObject;
  readonly delta: JsonObject;
}

/** Where a part stands in all chunks of a form. */
export interface PartPlace {
  readonly name: PartName;
  readonly before: string;
}

/** How all marks begin: what no chunk says. */
export const markStart = 'cut out of a chunk: ';

/** The fields of a delta whose text goes on from chunk to chunk. */
const textNames = ['content', 'reasoning_content', 'reasoning'];

/** What stands in the place of a part. */
export function markOf(part: PartName): string {
  return markStart + part;
}

/**
 * Cuts a chunk whose parts are where engines have them.
 *
 * @returns null when it is an unusual one: to take it, and then only parts of others, would not be the same as to
 *   take each
 */
export function cutChunk(data: string): CutChunk | null {
  // The last chunk has only the usage, in every stream.
  if (!data.includes('"delta":')) return null;
  const textName = textNames.find((name) => data.includes(`"${name}":"`)) ?? null;
  const cut = cutParts(data, findParts(data, textName));
  const body = cut === null ? null : parseJsonObject(cut.marked);
  if (cut === null || body === null || isJsonObject(body.error)) return null;
  const [choice = null, ...others] = isJsonList(body.choices) ? body.choices : [];
  if (others.length > 0 || !isJsonObject(choice) || !isJsonObject(choice.delta)) return null;
  if (!hasItsHead(body, cut.places) || !hasItsTokens(choice, cut.places)) return null;
  if (!hasOneText(choice.delta, textName)) return null;
  return { ...cut, textName, body, choice, delta: choice.delta };
}

interface FoundPart {
  readonly name: PartName;
  readonly start: number;
}

/** Where the parts seem to be, in their order. Whether they are is seen when the chunk is parsed without them. */
function findParts(data: string, textName: string | null): readonly FoundPart[] {
  const openings: readonly [PartName, string, first: string][] = [
    ['id', '"id":', '"'],
    ['created', '"created":', ''],
    ['promptTokenIds', '"prompt_token_ids":', '['],
    ['text', `"${textName}":`, '"'],
    ['logprobs', logprobsOpening.slice(0, -1), '['],
    ['tokenIds', '"token_ids":', '['],
  ];
  return openings
    .map(([name, opening, first]) => ({ name, at: data.indexOf(opening + first), length: opening.length }))
    .filter(({ name, at }) => at >= 0 && (name !== 'text' || textName !== null))
    .map(({ name, at, length }) => ({ name, start: at + length }))
    .sort((left, right) => left.start - right.start);
}

/** Null when something else stands in a part's place. */
function cutParts(
  data: string,
  found: readonly FoundPart[],
): (Pick<CutChunk, 'places' | 'after' | 'parts'> & { readonly marked: string }) | null {
  const places: PartPlace[] = [];
  const parts = noParts();
  let marked = '';
  let end = 0;
  for (const { name, start } of found) {
    const before = data.slice(end, start);
    if (!isPlain(before)) return null;
    places.push({ name, before });
    marked += `${before}"${markOf(name)}"`;
    end = partReaders[name](data, start, parts);
    if (end < 0) return null;
  }
  const after = data.slice(end);
  return isPlain(after) ? { places, after, parts, marked: marked + after } : null;
}

/** Whether a text says no mark, neither as it is nor by escapes. */
function isPlain(text: string): boolean {
  return !text.includes('\\') && !text.includes(markStart);
}

function isCut(part: PartName, places: readonly PartPlace[]): boolean {
  return places.some(({ name }) => name === part);
}

/** Whether what is cut out of a chunk's head stood there. */
function hasItsHead({ id, created, prompt_token_ids: ids }: JsonObject, places: readonly PartPlace[]): boolean {
  return (
    (!isCut('id', places) || id === markOf('id')) &&
    (!isCut('created', places) || created === markOf('created')) &&
    (!isCut('promptTokenIds', places) || ids === markOf('promptTokenIds'))
  );
}

/** Whether log-probabilities and ids were cut out where a choice has them, and none are left. */
function hasItsTokens({ logprobs, token_ids: tokenIds }: JsonObject, places: readonly PartPlace[]): boolean {
  const { content, tokens } = objectOf(logprobs);
  const isLogprobs = isCut('logprobs', places)
    ? content === markOf('logprobs') && tokens === undefined
    : !isJsonObject(logprobs);
  return isLogprobs && (isCut('tokenIds', places) ? tokenIds === markOf('tokenIds') : !isJsonList(tokenIds));
}

/** Whether the text is all of a delta that goes on: to take the rest of it twice is to take it once. */
function hasOneText(delta: JsonObject, textName: string | null): boolean {
  const isTakenOnce = ([name, value]: [string, JsonValue]): boolean => {
    if (name === textName) return value === markOf('text');
    return value === null || name === 'role' || (typeof value !== 'string' && name !== 'tool_calls');
  };
  return (textName === null || textName in delta) && Object.entries(delta).every(isTakenOnce);
}
