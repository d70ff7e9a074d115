import { isJsonObject, type JsonObject, type JsonValue, parseJsonObject } from '@agentlightning/core';
import { isJsonList, objectOf } from '../http/json-access.ts';
import { type LogprobEntries, logprobsOpening, readLogprobs } from './logprob-entries.ts';

/** A text whose lists of log-probabilities are cut out; in the place of each stands a mark with its number. */
interface CutText {
  readonly text: string;
  readonly lists: readonly LogprobEntries[];
}

/** What no answer says in the place of a list. */
const mark = 'log-probabilities cut out: ';

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
  const lists: LogprobEntries[] = [];
  let kept = '';
  let keptUntil = 0;
  for (let at = text.indexOf(logprobsOpening); at >= 0; at = text.indexOf(logprobsOpening, keptUntil)) {
    const start = at + logprobsOpening.length;
    const list: LogprobEntries = { tokens: [], logprobs: [] };
    const end = text[at - 1] === '\\' ? -1 : readLogprobs(text, start, list);
    if (end < 0) return null;
    kept += `${text.slice(keptUntil, start - 1)}"${mark}${lists.length}"`;
    keptUntil = end;
    lists.push(list);
  }
  return lists.length === 0 ? null : { text: kept + text.slice(keptUntil), lists };
}

/** Null when they were cut out somewhere else than where a choice has them. */
function withLogprobs(body: JsonObject, lists: readonly LogprobEntries[]): JsonObject | null {
  let next = 0;
  const withOwn = (choice: JsonValue): JsonValue => {
    if (!isJsonObject(choice)) return choice;
    const { content, tokens: others } = objectOf(choice.logprobs);
    if (content !== mark + next || others !== undefined) return choice;
    const { tokens, logprobs } = lists[next++] ?? { tokens: [], logprobs: [] };
    return { ...choice, logprobs: { tokens, token_logprobs: logprobs } };
  };
  const choices = isJsonList(body.choices) ? body.choices.map(withOwn) : [];
  return next === lists.length ? { ...body, choices } : null;
}
