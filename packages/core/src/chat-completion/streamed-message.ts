import type { JsonObject, JsonValue } from '../base/json.ts';
import { isObject, numberOf, objectsOf, textOf } from '../base/json-access.ts';
import { tokenIdFields } from './engines.ts';
import { ResponseStandardizer } from './standard-response.ts';

type Mutable = Record<string, JsonValue>;

interface StreamedChoice {
  readonly message: Mutable;
  readonly toolCalls: Map<number, Mutable>;
  rest: Mutable;
}

/**
 * Assembles the chunks of a Chat Completions stream into the body of the equivalent non-streamed response, without
 * the data of tokens.
 */
export class StreamedMessage {
  readonly #choices: Map<number, StreamedChoice> = new Map();
  readonly #standard: ResponseStandardizer = new ResponseStandardizer(true);
  #head: JsonObject = {};

  /** Adds a chunk in the form that the agent receives. */
  add(chunk: JsonObject): void {
    const { choices, ...head } = this.#standard.add(chunk);
    this.#head = { ...this.#head, ...head };
    for (const choice of objectsOf(choices)) this.#addChoice(choice);
  }

  /** The body received so far. */
  toBody(): JsonObject {
    return {
      ...this.#head,
      object: 'chat.completion',
      choices: [...this.#choices]
        .sort(([left], [right]) => left - right)
        .map(([index, { message, toolCalls, rest }]) => ({
          index,
          message: toolCalls.size === 0 ? message : { ...message, tool_calls: inOrder(toolCalls) },
          ...rest,
        })),
    };
  }

  #addChoice(choice: JsonObject): void {
    const known = this.#choiceAt(numberOf(choice.index) ?? 0);
    const {
      index: _index,
      delta,
      finish_reason: finishReason,
      logprobs: _logprobs,
      policy_versions: _versions,
      ...rest
    } = choice;
    known.rest = { ...known.rest, ...rest };
    for (const name of tokenIdFields) delete known.rest[name];
    if (textOf(finishReason) !== null) known.rest.finish_reason = finishReason ?? null;
    if (!isObject(delta)) return;
    const { tool_calls: toolCalls, ...fields } = delta;
    appendFields(known.message, fields, ['role']);
    for (const call of objectsOf(toolCalls)) addToolCall(known.toolCalls, call);
  }

  #choiceAt(index: number): StreamedChoice {
    const known = this.#choices.get(index);
    if (known !== undefined) return known;
    const choice: StreamedChoice = {
      message: { role: 'assistant', content: null },
      toolCalls: new Map(),
      rest: { finish_reason: null },
    };
    this.#choices.set(index, choice);
    return choice;
  }
}

function addToolCall(toolCalls: Map<number, Mutable>, delta: JsonObject): void {
  const index = numberOf(delta.index) ?? toolCalls.size;
  const known = toolCalls.get(index) ?? {};
  toolCalls.set(index, known);
  const { index: _, function: target, ...fields } = delta;
  appendFields(known, fields, ['id', 'type']);
  if (!isObject(target)) return;
  const merged: Mutable = isObject(known.function) ? { ...known.function } : {};
  appendFields(merged, target, ['name']);
  known.function = merged;
}

/** Text fields are concatenated; name fields and non-text fields take the last value. */
function appendFields(into: Mutable, delta: JsonObject, names: readonly string[]): void {
  for (const [name, value] of Object.entries(delta)) {
    const before = into[name];
    const isAppended = typeof value === 'string' && typeof before === 'string' && !names.includes(name);
    if (isAppended) into[name] = before + value;
    else if (value !== null && value !== '') into[name] = value;
    else if (before === undefined || before === null) into[name] = value;
  }
}

function inOrder(toolCalls: Map<number, Mutable>): readonly JsonObject[] {
  return [...toolCalls].sort(([left], [right]) => left - right).map(([, call]) => call);
}
