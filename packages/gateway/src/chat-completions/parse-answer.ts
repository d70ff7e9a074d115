import { isJsonObject, type JsonObject, type JsonValue, parseJsonObject } from '@agentlightning/core';
import { isJsonList, objectOf } from '../http/json-access.ts';

/** Log-probabilities as Completions have them. */
interface TokenLogprobs {
  readonly tokens: readonly string[];
  readonly token_logprobs: readonly number[];
}

/** A text whose lists of log-probabilities are cut out; in the place of each stands a mark with its number. */
interface CutText {
  readonly text: string;
  readonly lists: readonly TokenLogprobs[];
}

/** How such a list begins in what engines write. Within a text of JSON, its quotation marks would be escaped. */
const opening = '"logprobs":{"content":[';

/** What no answer says in the place of a list. */
const mark = 'log-probabilities cut out: ';

/** One entry as engines write it to those who ask for no other tokens. Any other is read in the usual way. */
const entryPattern: RegExp =
  /\{"token":"((?:[^"\\\p{Cc}]|\\.)*)","logprob":(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?),"bytes":(?:null|\[[\d,]*\]),"top_logprobs":\[\]\}(,?)/uy;

/**
 * Reads a whole answer of Chat Completions of which nobody sees the log-probabilities but its record. They are given
 * in the form of Completions, as two lists: their entries are most of an answer, and to make three objects for each
 * token takes longer than to read all the rest.
 *
 * @returns null when it is no JSON object
 */
export function parseAnswer(text: string): JsonObject | null {
  const cut = cutLogprobs(text);
  const body = cut === null ? null : parseJsonObject(cut.text);
  const whole = cut === null || body === null ? null : withLogprobs(body, cut.lists);
  return whole ?? parseJsonObject(text);
}

function cutLogprobs(text: string): CutText | null {
  const lists: TokenLogprobs[] = [];
  let kept = '';
  let keptUntil = 0;
  for (let at = text.indexOf(opening); at >= 0; at = text.indexOf(opening, keptUntil)) {
    const start = at + opening.length;
    const list: { tokens: string[]; token_logprobs: number[] } = { tokens: [], token_logprobs: [] };
    const end = text[at - 1] === '\\' ? -1 : readEntries(text, start, list);
    if (end < 0) return null;
    kept += `${text.slice(keptUntil, start - 1)}"${mark}${lists.length}"`;
    keptUntil = end;
    lists.push(list);
  }
  return lists.length === 0 ? null : { text: kept + text.slice(keptUntil), lists };
}

/** @returns where the list has ended; less than 0 when it has something else in it */
function readEntries(text: string, start: number, list: { tokens: string[]; token_logprobs: number[] }): number {
  entryPattern.lastIndex = start;
  for (;;) {
    const entry = entryPattern.exec(text);
    if (entry === null) return -1;
    const token = unescaped(entry[1] ?? '');
    if (token === null) return -1;
    list.tokens.push(token);
    list.token_logprobs.push(Number(entry[2]));
    const end = entryPattern.lastIndex;
    if (entry[3] === '') return text[end] === ']' ? end + 1 : -1;
  }
}

function unescaped(text: string): string | null {
  if (!text.includes('\\')) return text;
  const value = parseJsonObject(`{"token":"${text}"}`)?.token;
  return typeof value === 'string' ? value : null;
}

/** Null when they were cut out somewhere else than where a choice has them. */
function withLogprobs(body: JsonObject, lists: readonly TokenLogprobs[]): JsonObject | null {
  let next = 0;
  const withOwn = (choice: JsonValue): JsonValue => {
    if (!isJsonObject(choice) || objectOf(choice.logprobs).content !== mark + next) return choice;
    const { tokens, token_logprobs } = lists[next++] ?? { tokens: [], token_logprobs: [] };
    return { ...choice, logprobs: { tokens, token_logprobs } };
  };
  const choices = isJsonList(body.choices) ? body.choices.map(withOwn) : [];
  return next === lists.length ? { ...body, choices } : null;
}
