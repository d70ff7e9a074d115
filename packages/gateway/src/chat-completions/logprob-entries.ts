import { parseJsonObject } from '@agentlightning/core';

/** The tokens of an answer, or of a part of it, and their log-probabilities. */
export interface LogprobEntries {
  readonly tokens: string[];
  readonly logprobs: number[];
}

/** How a list of them begins in what engines write. Within a text of JSON, its quotation marks would be escaped. */
export const logprobsOpening = '"logprobs":{"content":[';

/**
 * One entry as engines write it to those who ask for no other tokens: its token, a backslash when that has any, its
 * log-probability, and the comma behind it. Any other entry is read in the usual way.
 */
const entryPattern: RegExp =
  /\{"token":"([^"\\\p{Cc}]*(?:(\\).[^"\\\p{Cc}]*)*)","logprob":(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?),"bytes":(?:null|\[(?:(?:0|[1-9]\d*)(?:,(?:0|[1-9]\d*))*)?\]),"top_logprobs":\[\]\}(,?)/uy;

/**
 * Reads a list of them.
 *
 * @param start - behind its opening bracket
 * @returns where the list has ended; less than 0 when it has something else in it
 */
export function readLogprobs(text: string, start: number, into: LogprobEntries): number {
  entryPattern.lastIndex = start;
  for (;;) {
    const entry = entryPattern.exec(text);
    if (entry === null) return -1;
    const raw = entry[1] ?? '';
    const token = entry[2] === undefined ? raw : unescaped(raw);
    if (token === null) return -1;
    into.tokens.push(token);
    into.logprobs.push(Number(entry[3]));
    const end = entryPattern.lastIndex;
    if (entry[4] === '') return text[end] === ']' ? end + 1 : -1;
  }
}

/** A text as it stands in JSON, between its quotation marks; null when it is none. */
export function unescaped(text: string): string | null {
  const value = parseJsonObject(`{"text":"${text}"}`)?.text;
  return typeof value === 'string' ? value : null;
}
