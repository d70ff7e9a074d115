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

/** What stands in the place of parts. */
export const marks: Readonly<Record<PartName, string>> = {
  text: `${markStart}text`,
  logprobs: `${markStart}logprobs`,
  tokenIds: `${markStart}token ids`,
};

/** The fields of a delta whose text goes on from chunk to chunk. */
const textNames = ['content', 'reasoning_content', 'reasoning'];

/**
 * Cuts a chunk whose parts are where engines have them.
 *
 * @returns null when it is an unusual one: to take it, and then only parts of others, would not be the same as to
 *   take each
 */
export function cutChunk(data: string): CutChunk | null {
  const textName = textNames.find((name) => data.includes(`"${name}":"`)) ?? null;
  const cut = cutParts(data, findParts(data, textName));
  const body = cut === null ? null : parseJsonObject(cut.marked);
  if (cut === null || body === null || isJsonObject(body.error)) return null;
  const [choice = null, ...others] = isJsonList(body.choices) ? body.choices : [];
  if (others.length > 0 || !isJsonObject(choice) || !isJsonObject(choice.delta)) return null;
  if (!hasItsTokens(choice, cut.places) || !hasOneText(choice.delta, textName)) return null;
  return { ...cut, textName, body, choice, delta: choice.delta };
}

interface FoundPart {
  readonly name: PartName;
  readonly start: number;
}

/** Where the parts seem to be, in their order. Whether they are is seen when the chunk is parsed without them. */
function findParts(data: string, textName: string | null): readonly FoundPart[] {
  const openings: readonly [PartName, string | null][] = [
    ['text', textName === null ? null : `"${textName}":"`],
    ['logprobs', logprobsOpening],
    ['tokenIds', '"token_ids":['],
  ];
  return openings
    .flatMap(([name, opening]) => {
      const at = opening === null ? -1 : data.indexOf(opening);
      return opening === null || at < 0 ? [] : [{ name, start: at + opening.length - 1 }];
    })
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
    marked += `${before}"${marks[name]}"`;
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

/** Whether log-probabilities and ids were cut out where a choice has them, and none are left. */
function hasItsTokens({ logprobs, token_ids: tokenIds }: JsonObject, places: readonly PartPlace[]): boolean {
  const isCut = (part: PartName): boolean => places.some(({ name }) => name === part);
  const { content, tokens } = objectOf(logprobs);
  const isLogprobs = isCut('logprobs') ? content === marks.logprobs && tokens === undefined : !isJsonObject(logprobs);
  return isLogprobs && (isCut('tokenIds') ? tokenIds === marks.tokenIds : !isJsonList(tokenIds));
}

/** Whether the text is all of a delta that goes on: to take the rest of it twice is to take it once. */
function hasOneText(delta: JsonObject, textName: string | null): boolean {
  const isTakenOnce = ([name, value]: [string, JsonValue]): boolean => {
    if (name === textName) return value === marks.text;
    return value === null || name === 'role' || (typeof value !== 'string' && name !== 'tool_calls');
  };
  return (textName === null || textName in delta) && Object.entries(delta).every(isTakenOnce);
}
