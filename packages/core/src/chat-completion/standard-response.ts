import type { JsonObject, JsonValue } from '../base/json.ts';
import { isList, isObject, numberOf, objectsOf, parseObject, textOf } from '../base/json-access.ts';
import { errorMessageOf } from './error-message.ts';

/** A tool call of a choice, as far as it has arrived. */
interface KnownCall {
  /** The engine's index; null for none. */
  readonly givenIndex: number | null;
  /** The engine's id. */
  readonly givenId: string | null;
  readonly index: number;
  readonly id: string;
  name: string;
  text: string;
}

/** The part of a tool call in a chunk or body. */
interface CallPart {
  readonly id: string | null;
  readonly index: number | null;
  readonly name: string;
  /** Position in its list, and the length of the list. */
  readonly position: number;
  readonly count: number;
}

/**
 * Rewrites the responses of engines that deviate from OpenAI's Chat Completions: tool calls without an id or index, several
 * calls with one index or id, ids that change from chunk to chunk, arguments as objects, `function_call`, and content in
 * parts. One instance reads one response: a whole body, or the chunks of a stream in order.
 */
export class ResponseStandardizer {
  readonly #choices: Map<number, KnownCall[]> = new Map();
  readonly #isStream: boolean;
  #responseId: string | null = null;
  #problem: string | null = null;

  /** @param isStream - whether it reads chunks */
  constructor(isStream: boolean) {
    this.#isStream = isStream;
  }

  /** A body or chunk in OpenAI's form; the same object if it has that form. */
  add(body: JsonObject): JsonObject {
    this.#responseId ??= textOf(body.id);
    this.#problem ??= reportedError(body);
    if (!isList(body.choices)) return body;
    const choices = body.choices.map((choice) => (isObject(choice) ? this.#choice(choice) : choice));
    return isSame(choices, body.choices) ? body : { ...body, choices };
  }

  /** Why the response so far cannot be understood; null when it can. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Why the complete response cannot be understood; null when it can. */
  problemAtEnd(): string | null {
    const calls = [...this.#choices.values()].flat();
    const isUnnamed = calls.some(({ name }) => name === '');
    return this.#problem ?? (isUnnamed ? 'the model endpoint returned a tool call without a name' : null);
  }

  #choice(given: JsonObject): JsonObject {
    const choice = this.#isStream ? withDelta(given) : given;
    const place = isObject(choice.message) && !this.#isStream ? 'message' : 'delta';
    if (choice.text !== undefined) return choice;
    // Chunks of content filters have neither.
    const message = choice[place] ?? {};
    if (!isObject(message)) return choice;
    const index = numberOf(choice.index) ?? 0;
    const standard = this.#message(plainContent(message), index, place === 'delta');
    const finish = this.#finishReason(choice.finish_reason, index);
    const complete = finish === null || place === 'message' ? standard : this.#withArguments(standard, index);
    if (complete === given[place] && finish === (choice.finish_reason ?? null)) return choice;
    return { ...choice, [place]: complete, ...(choice.finish_reason === undefined ? {} : { finish_reason: finish }) };
  }

  /** The finish reason in OpenAI's words. */
  #finishReason(value: JsonValue | undefined, choice: number): JsonValue {
    if (typeof value !== 'string') return value ?? null;
    const word = value.toLowerCase();
    if (word === 'error') this.#problem ??= 'the model endpoint ended its response with an error';
    if (interruptions.has(word)) this.#problem ??= `the model endpoint ended its response with the reason "${value}"`;
    const reason = finishReasons[word] ?? value;
    const hasCalls = (this.#choices.get(choice) ?? []).length > 0;
    return reason === 'stop' && hasCalls ? 'tool_calls' : reason;
  }

  /** The last chunk of a choice, with the arguments of calls without any. */
  #withArguments(delta: JsonObject, choice: number): JsonObject {
    const empty = (this.#choices.get(choice) ?? []).filter(({ text }) => text.trim() === '');
    if (empty.length === 0) return delta;
    for (const call of empty) call.text = '{}';
    const calls = isList(delta.tool_calls) ? delta.tool_calls : [];
    const added = empty.map(({ index }) => ({ index, function: { arguments: '{}' } }));
    return { ...delta, tool_calls: [...calls, ...added] };
  }

  #message(message: JsonObject, choice: number, isDelta: boolean): JsonObject {
    const given = callsOf(message);
    if (given === undefined) return withoutNoCalls(message);
    if (!isList(given) || !given.every(isObject)) {
      this.#problem ??= 'the model endpoint returned tool calls that are not a list of objects';
      return message;
    }
    const known = this.#choices.get(choice) ?? [];
    this.#choices.set(choice, known);
    const calls = given.map((call, position) => {
      if (call.type === 'custom' || isObject(call.custom)) return call;
      return this.#call(call, known, { position, count: given.length, isDelta, choice });
    });
    const { function_call: legacy, ...rest } = message;
    if (isObject(legacy)) return { ...rest, tool_calls: calls };
    return isSame(calls, given) ? message : { ...message, tool_calls: calls };
  }

  #call(
    given: JsonObject,
    calls: KnownCall[],
    at: { readonly position: number; readonly count: number; readonly isDelta: boolean; readonly choice: number },
  ): JsonObject {
    const target = isObject(given.function) ? given.function : given;
    const part = { ...at, id: textOf(given.id) || null, index: indexOf(given.index), name: textOf(target.name) ?? '' };
    const continued = at.isDelta ? callOf(calls, part) : undefined;
    const call = continued ?? newCall(calls, part, `${this.#responseId ?? ''}_${at.choice}`);
    const text = this.#argumentsText(target.arguments, call.text);
    const isNamed = call.name === '' && part.name !== '';
    call.name ||= part.name;
    call.text += text ?? '';
    const { name: _, arguments: __, ...fields } = target;
    const { id: ___, function: ____, ...others } = target === given ? fields : given;
    const { type, ...untyped } = others;
    const outer = continued === undefined || (type ?? null) !== null ? others : untyped;
    const standard = {
      ...outer,
      ...(at.isDelta ? { index: call.index } : {}),
      ...(continued === undefined ? { id: call.id, type: 'function' } : {}),
      function: {
        ...(target === given ? {} : fields),
        ...(isNamed ? { name: call.name } : {}),
        ...(text !== null || !at.isDelta
          ? { arguments: text === null || isBlank(text, at.isDelta) ? '{}' : text }
          : {}),
      },
    };
    return isEqual(standard, given) && !(continued !== undefined && hasNoIdentity(given, target)) ? given : standard;
  }

  /** The arguments as text to append; null for none. */
  #argumentsText(value: JsonValue | undefined, before: string): string | null {
    if (value === undefined || value === null) return null;
    if (typeof value === 'string') return value;
    const text = JSON.stringify(value);
    if (before === '') return text;
    if (before !== text)
      this.#problem ??= `the model endpoint returned two arguments of one tool call: ${before}, ${text}`;
    return null;
  }
}

/** The known call that a chunk continues; undefined for a new one. */
function callOf(calls: readonly KnownCall[], part: CallPart): KnownCall | undefined {
  const { id, index, name } = part;
  const byId = calls.find(
    (call) => id !== null && call.givenId === id && (index === null || call.givenIndex === index),
  );
  if (byId !== undefined && (name === '' || name === byId.name)) return byId;
  const byPlace = index === null ? placed(calls, part) : calls.findLast((call) => call.givenIndex === index);
  return byPlace === undefined || startsCall(byPlace, part) ? undefined : byPlace;
}

function placed(calls: readonly KnownCall[], { position, count, name }: CallPart): KnownCall | undefined {
  return count > 1 && name === '' ? calls.at(position - count) : calls.at(-1);
}

/** Whether a part with a name starts another call than the one at its place. */
function startsCall(known: KnownCall, { id, index, name }: CallPart): boolean {
  if (name === '' || known.name === '') return false;
  const isWhole = parseObject(known.text) !== null;
  if (id === null || id === known.givenId) return isWhole || (index === null && name !== known.name);
  // Some engines send a new id with each chunk of the call at an index.
  return index === null || isWhole || name !== known.name;
}

function newCall(calls: KnownCall[], { id, index }: CallPart, stem: string): KnownCall {
  const next = calls.reduce((most, call) => Math.max(most, call.index + 1), 0);
  const isFree = index !== null && !calls.some((call) => call.index === index);
  const newIndex = isFree ? index : next;
  const isUsed = calls.some((call) => call.id === id);
  const newId = id === null ? `call_${stem}_${newIndex}` : isUsed ? `${id}_${newIndex}` : id;
  const call = { givenIndex: index, givenId: id, index: newIndex, id: newId, name: '', text: '' };
  calls.push(call);
  return call;
}

/** The finish reasons of engines and routers, in lower case, in OpenAI's words. */
const finishReasons: Readonly<Record<string, string>> = {
  '': 'stop',
  stop: 'stop',
  complete: 'stop',
  end_turn: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  stop_sequence: 'stop',
  length: 'length',
  max_length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  content_filter: 'content_filter',
  safety: 'content_filter',
  sensitive: 'content_filter',
  function_call: 'tool_calls',
  tool_call: 'tool_calls',
  tool_calls: 'tool_calls',
  tool_use: 'tool_calls',
};

/** Finish reasons of responses that the engine did not complete. */
const interruptions: ReadonlySet<string> = new Set([
  'abort',
  'aborted',
  'engine_overloaded',
  'insufficient_system_resource',
  'network_error',
]);

/** The error that a body or chunk reports; null for none. */
function reportedError(body: JsonObject): string | null {
  const hasChoices = isList(body.choices) && body.choices.length > 0;
  return errorMessageOf(hasChoices ? { error: body.error ?? null } : body) || null;
}

/** A choice of a chunk, whose part of the message some servers call `message`. */
function withDelta(choice: JsonObject): JsonObject {
  const { message, ...rest } = choice;
  return isObject(message) && choice.delta === undefined ? { ...rest, delta: message } : choice;
}

/** Whether a chunk that continues a call has an empty id, type or name, which clients may take for a new one. */
function hasNoIdentity({ id, type }: JsonObject, { name }: JsonObject): boolean {
  return [id, type, name].some((value) => value === null || value === '');
}

/** Whether the arguments of a whole call are empty. */
function isBlank(text: string, isDelta: boolean): boolean {
  return !isDelta && text.trim() === '';
}

/** Leaves out an empty list of calls, which clients take for calls. */
function withoutNoCalls(message: JsonObject): JsonObject {
  if (!isList(message.tool_calls)) return message;
  const { tool_calls: _, ...rest } = message;
  return rest;
}

/** The tool calls of a message, `function_call` included; undefined for none. */
function callsOf({ tool_calls: calls, function_call: legacy }: JsonObject): JsonValue | undefined {
  if (calls !== undefined && calls !== null && !(isList(calls) && calls.length === 0)) return calls;
  return isObject(legacy) ? [{ index: 0, function: legacy }] : undefined;
}

/** An index; some engines send it as text. */
function indexOf(value: JsonValue | undefined): number | null {
  return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : numberOf(value);
}

/** Content in parts as text, and its thinking parts as reasoning. */
function plainContent(message: JsonObject): JsonObject {
  const { content } = message;
  if (!isList(content) || !content.every(isObject)) return message;
  const thoughts = content.filter((part) => part.type === 'thinking');
  const texts = content.filter((part) => part.type === 'text' && typeof part.text === 'string');
  if (thoughts.length + texts.length < content.length) return message;
  const reasoning = thoughts.map(({ thinking }) => textOf(thinking) ?? textOfParts(thinking)).join('');
  const text = textOfParts(texts);
  return {
    ...message,
    content: text,
    ...(reasoning === '' ? {} : { reasoning_content: (textOf(message.reasoning_content) ?? '') + reasoning }),
  };
}

function textOfParts(parts: JsonValue | undefined): string {
  return objectsOf(parts)
    .map((part) => textOf(part.text) ?? '')
    .join('');
}

function isSame(left: readonly JsonValue[], right: readonly JsonValue[]): boolean {
  return left.every((item, index) => item === right[index]);
}

/** Compares objects by value, whatever the order of their fields; null is the same as an absent field. */
function isEqual(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  if (!isObject(left) || !isObject(right)) return (left ?? null) === (right ?? null);
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].every((name) => isEqual(left[name], right[name]));
}
