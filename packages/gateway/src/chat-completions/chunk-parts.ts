import type { MoreTokens } from '@agentlightning/core';
import { type LogprobEntries, readLogprobs, unescaped } from './logprob-entries.ts';

/** What is not the same in all chunks of a form. */
export type PartName = 'text' | 'logprobs' | 'tokenIds';

/** What a chunk says beside what all of its form say. */
export interface ChunkParts extends LogprobEntries, MoreTokens {
  readonly tokens: string[];
  readonly logprobs: number[];
  tokenIds: readonly number[];
  text: string;
  /** The text as `JSON.stringify` writes it; empty when there is none. */
  writtenText: string;
}

/** A text that `JSON.stringify` would write as it stands, or one with a backslash. */
const textPattern: RegExp = /"([^"\\\p{Cc}\p{Cs}]*(?:(\\).[^"\\\p{Cc}\p{Cs}]*)*)"/uy;

const tokenIdsPattern: RegExp = /\[(?:(?:0|[1-9]\d*)(?:,(?:0|[1-9]\d*))*)?\]/y;

/** Parts that are still to be read. */
export function noParts(): ChunkParts {
  return { tokens: [], logprobs: [], tokenIds: [], text: '', writtenText: '' };
}

/**
 * How a part is read: a whole value of a chunk's JSON. They tell where it has ended; less than 0 when something else is
 * there.
 */
export const partReaders: Readonly<Record<PartName, (data: string, at: number, into: ChunkParts) => number>> = {
  text: readText,
  logprobs: (data, at, into) => (data[at] === '[' ? readLogprobs(data, at + 1, into) : -1),
  tokenIds: readTokenIds,
};

function readText(data: string, at: number, into: ChunkParts): number {
  textPattern.lastIndex = at;
  const found = textPattern.exec(data);
  if (found === null) return -1;
  const [written] = found;
  const raw = found[1] ?? '';
  const isPlain = found[2] === undefined;
  const text = isPlain ? raw : unescaped(raw);
  if (text === null) return -1;
  into.text = text;
  into.writtenText = isPlain ? written : JSON.stringify(text);
  return at + written.length;
}

function readTokenIds(data: string, at: number, into: ChunkParts): number {
  tokenIdsPattern.lastIndex = at;
  if (!tokenIdsPattern.test(data)) return -1;
  const end = tokenIdsPattern.lastIndex;
  into.tokenIds = JSON.parse(data.slice(at, end));
  return end;
}
