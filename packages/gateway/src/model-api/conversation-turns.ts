import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject, requestPromptFields } from '@agentlightning/core/internal';
import type { EndedCall, StartedCall } from '../capture/call-recorder.ts';
import { isJsonList, objectOf, objectsOf, textOf } from '../wire/json-access.ts';

/** The attempt of a conversation. */
type AttemptIds = Pick<StartedCall['attempt'], 'rolloutId' | 'attemptId'>;

/** A request that continues an earlier response. */
export interface ContinuedTurn {
  /** Position of the response among the messages; only messages of other roles follow. */
  readonly responseIndex: number;
  /** The prompt of the earlier call, and the sampled response. */
  readonly tokenIds: readonly number[];
}

/** Approximate limit of remembered token ids; the oldest turns are forgotten first. */
const maxTokens = 4_000_000;

/** Fields that change how a conversation is rendered in a way that token ids cannot continue, or that hold a prompt already. */
const otherPrompts: readonly string[] = [
  'continue_final_message',
  'add_generation_prompt',
  'chat_template',
  'documents',
  'prompt_embeds',
  ...requestPromptFields.flatMap(({ container, name }) => (container === null ? [name] : [])),
];

/**
 * The token ids of each attempt's turns, by the conversation up to and with the response. Conversations are compared by value:
 * an agent may write arguments of tool calls in another form, and leave out reasoning.
 */
export class ConversationTurns {
  readonly #turns: Map<string, readonly number[]> = new Map();
  readonly #maxTokens: number;
  #tokens = 0;

  /** @param limit - approximate limit of remembered token ids */
  constructor(limit: number = maxTokens) {
    this.#maxTokens = limit;
  }

  /** Remembers the responses of a trainable call that the model ended itself. */
  remember({ attempt, request }: StartedCall, { captured, parameters, response }: EndedCall): void {
    if (!isContinuable(request) || hasStops(request)) return;
    const { messages } = request;
    const start = conversationKeys(attempt, { request, model: parameters.model, messages: objectsOf(messages) }).at(-1);
    if (start === undefined) return;
    const replies = objectsOf(response?.choices);
    for (const { index, finishReason, responseTokenIds } of captured.choices) {
      const message = replies.find((choice) => (choice.index ?? 0) === index)?.message;
      if (!isJsonObject(message) || finishReason === 'length' || finishReason === null) continue;
      this.#add(extended(start, message), captured.promptTokenIds.concat(responseTokenIds));
    }
  }

  /** The turn that a request continues; null for none. */
  find(attempt: AttemptIds, request: JsonObject, model: string): ContinuedTurn | null {
    const messages = objectsOf(request.messages);
    const responseIndex = messages.findLastIndex(({ role }) => role === 'assistant');
    if (responseIndex < 1 || responseIndex === messages.length - 1 || !isContinuable(request)) return null;
    const key = conversationKeys(attempt, { request, model, messages: messages.slice(0, responseIndex + 1) }).at(-1);
    const tokenIds = key === undefined ? undefined : this.#turns.get(key);
    return tokenIds === undefined ? null : { responseIndex, tokenIds };
  }

  #add(key: string, tokenIds: readonly number[]): void {
    this.#tokens += tokenIds.length - (this.#turns.get(key)?.length ?? 0);
    this.#turns.delete(key);
    this.#turns.set(key, tokenIds);
    for (const [name, oldest] of this.#turns) {
      if (this.#tokens <= this.#maxTokens) break;
      this.#turns.delete(name);
      this.#tokens -= oldest.length;
    }
  }
}

/** Whether the conversation is text that its template renders in the usual way. */
function isContinuable(request: JsonObject): boolean {
  if (otherPrompts.some((name) => request[name] !== undefined && request[name] !== null)) return false;
  return objectsOf(request.messages).every(({ content }) =>
    objectsOf(content).every(({ type }) => type === 'text' || type === 'refusal'),
  );
}

/** Texts and tokens that end a response beside the model's own end of a turn. */
function hasStops({ stop, stop_token_ids: ids }: JsonObject): boolean {
  return [stop, ids].some((value) => value !== undefined && value !== null && (!isJsonList(value) || value.length > 0));
}

/** A key for each prefix of the messages. */
function conversationKeys(
  { rolloutId, attemptId }: AttemptIds,
  of: { readonly request: JsonObject; readonly model: string; readonly messages: readonly JsonObject[] },
): readonly string[] {
  const { tools, tool_choice: choice, chat_template_kwargs: settings, reasoning_effort: effort } = of.request;
  const rendering = [of.model, tools ?? null, choice === 'none', settings ?? null, effort ?? null];
  let key = hashOf(`${rolloutId}/${attemptId}/${canonical(rendering)}`);
  return of.messages.map((message) => {
    key = extended(key, message);
    return key;
  });
}

function extended(key: string, message: JsonObject): string {
  return hashOf(`${key}/${canonical(messageValue(message))}`);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

/** What a message says, without the ids of its calls. */
function messageValue({ role, content, tool_calls: calls, name }: JsonObject): JsonValue {
  const text = textOfContent(content);
  if (role !== 'assistant') return [role ?? '', text, name ?? null];
  return [role, withoutReasoning(text), objectsOf(calls).map(callValue)];
}

function callValue(call: JsonObject): JsonValue {
  const { name, arguments: given } = objectOf(call.function);
  return [name ?? '', typeof given === 'string' ? parsed(given) : (given ?? null)];
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function textOfContent(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  return objectsOf(content)
    .map(({ text, refusal }) => textOf(text) ?? textOf(refusal) ?? '')
    .join('');
}

/** The text after the reasoning, which agents and templates leave out of earlier turns. */
function withoutReasoning(text: string): string {
  const end = text.lastIndexOf('</think>');
  return (end === -1 ? text : text.slice(end + '</think>'.length)).trim();
}

/** JSON with sorted names. */
function canonical(value: JsonValue): string {
  return JSON.stringify(value, (_, item: JsonValue) =>
    isJsonObject(item)
      ? Object.fromEntries(Object.entries(item).sort(([one], [other]) => (one < other ? -1 : 1)))
      : item,
  );
}
