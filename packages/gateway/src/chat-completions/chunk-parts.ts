import type { MoreTokens } from '@agentlightning/core';
import { type LogprobEntries, readLogprobs, unescaped } from './logprob-entries.ts';

/** What is not the same in all chunks of a form. */
export type PartName = 'id' | 'created' | 'promptTokenIds' | 'text' | 'logprobs' | 'tokenIds';

/** What a chunk says beside what all of its form say; empty where it has no such part. */
export interface ChunkParts extends LogprobEntries, MoreTokens {
  /** As JSON, like all that is called written. */
  writtenId: string;
  writtenCreated: string;
  promptTokenIds: readonly number[];
  text: string;
  /** As `JSON.stringify` writes it. */
  writtenText: string;
  readonly tokens: string[];
  readonly logprobs: number[];
  tokenIds: readonly number[];
}

const idPattern: RegExp = /"[^"\\\p{Cc}\p{Cs}]*"/uy;

/** One that `JSON.stringify` would write as it stands. */
const createdPattern: RegExp = /(?:0|[1-9]\d{0,14})/y;

/** A text that `JSON.stringify` would write as it stands, or one with a backslash. */
const textPattern: RegExp = /"([^"\\\p{Cc}\p{Cs}]*(?:(\\).[^"\\\p{Cc}\p{Cs}]*)*)"/uy;

const tokenIdsPattern: RegExp = /\[(?:(?:0|[1-9]\d*)(?:,(?:0|[1-9]\d*))*)?\]/y;

/** Parts that are still to be read. */
export function noParts(): ChunkParts {
  return {
    writtenId: '',
    writtenCreated: '',
    promptTokenIds: [],
    text: '',
    writtenText: '',
    tokens: [],
    logprobs: [],
    tokenIds: [],
  };
}

type PartReader = (data: string, at: number, into: ChunkParts) => number;

/**
 * How a part is read: a whole value of a chunk's JSON. They tell where it has ended; less than 0 when something else is
 * there.
 */
export const partReaders: Readonly<Record<PartName, PartReader>> = {
  id: (data, at, into) => {
    const end = endOf(idPattern, data, at);
    into.writtenId = data.slice(at, end);
    return end;
  },
  created: (data, at, into) => {
    const end = endOf(createdPattern, data, at);
    into.writtenCreated = data.slice(at, end);
    return end;
  },
  promptTokenIds: (data, at, into) => {
    const end = endOf(tokenIdsPattern, data, at);
    if (end >= 0) into.promptTokenIds = JSON.parse(data.slice(at, end));
    return end;
  },
  text: readText,
  logprobs: (data, at, into) => (data[at] === '[' ? readLogprobs(data, at + 1, into) : -1),
  tokenIds: (data, at, into) => {
    const end = endOf(tokenIdsPattern, data, at);
    if (end >= 0) into.tokenIds = JSON.parse(data.slice(at, end));
    return end;
  },
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

function endOf(pattern: RegExp, data: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(data) ? pattern.lastIndex : -1;
}
