/**
 * Calls of an attempt are one row of a batch when each prompt extends the previous prompt and response token by token.
 * Templates that drop the reasoning of earlier turns, and frameworks that trim text, prevent this: eight rollouts of eight
 * turns become 64 rows, whose prompts are computed again.
 *
 * Rendering here would need the tokenizer and the template of each engine. vLLM's token API (`/inference/v1/generate`) returns
 * no messages: tool calls and reasoning would be parsed here. The chat request keeps its messages, so the engine parses them,
 * and `prompt_token_ids` of the response prove that it used the prompt. The model sees its earlier reasoning, also in
 * evaluations of a run; outside of the gateway, the template drops it. Calls with images are not continued. It was tested with
 * scripted engines only.
 *
 * @module
 */
import type { JsonObject, JsonValue } from '@agentlightning/core';
import {
  type CapturedResponse,
  parseJsonObject,
  requestPromptFields,
  tokenizeRoute,
  untrainableReason,
} from '@agentlightning/core/internal';
import type { EndedCall, StartedCall } from '../capture/call-recorder.ts';
import type { RegisteredUpstream } from '../upstream/registered-upstream.ts';
import type { UpstreamClient } from '../upstream/upstream-client.ts';
import type { GatewayLog } from '../wire/gateway-options.ts';
import { isJsonList, objectOf, objectsOf } from '../wire/json-access.ts';
import { adaptedMessages } from './adapted-messages.ts';
import { type ContinuedTurn, ConversationTurns } from './conversation-turns.ts';

/** A call that may continue an earlier one of its attempt. */
export interface ContinuableCall {
  readonly started: StartedCall;
  readonly upstream: RegisteredUpstream;
  /** Model name at the upstream. */
  readonly model: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** In the record of a call whose prompt was continued by token ids. */
export const continuedChange = 'messages: earlier turns sent as the token ids that were sampled';

/** Limit for a request to render messages, in milliseconds. */
const renderTimeoutMs = 30_000;

/** The statuses of an upstream that cannot render messages. */
const lacksRendering: ReadonlySet<number> = new Set([404, 405, 422, 501]);

/**
 * Continues the conversation of an attempt by the sampled token ids, where the template of the model would render earlier turns
 * in other tokens: without their reasoning, or with arguments in another form. Then the prompt is the previous prompt, the
 * sampled response, and what the template renders after that response.
 *
 * What follows a response is found by rendering the conversation with two other responses in its place: the common end of the
 * two begins after the text of the response. It must contain the token with which the sampled response ended.
 */
export class TokenContinuity {
  readonly #turns: ConversationTurns = new ConversationTurns();
  readonly #client: UpstreamClient;
  readonly #log: GatewayLog;

  constructor(client: UpstreamClient, log: GatewayLog) {
    this.#client = client;
    this.#log = log;
  }

  /** The prompt of a call as token ids; null where its messages are rendered as the continuation, or it has none. */
  async promptOf(call: ContinuableCall): Promise<readonly number[] | null> {
    const { started, upstream, model } = call;
    if (!upstream.continuesTokens) return null;
    const turn = this.#turns.find(started.attempt, started.request, model);
    if (turn === null) return null;
    const messages = objectsOf(started.request.messages);
    const rendered = await this.#render(call, messages);
    if (rendered === null || startsWith(rendered, turn.tokenIds)) return null;
    const others = await Promise.all(
      ['0', '1'].map((text) => this.#render(call, withOtherResponse(messages, turn.responseIndex, text))),
    );
    const rest = tokensAfterResponse(others, turn, messages);
    return rest === null ? null : turn.tokenIds.concat(rest);
  }

  /** Remembers a finished call, and whether its upstream used the token ids. */
  ended(
    started: StartedCall,
    ended: EndedCall,
    { upstream, sentPrompt }: { readonly upstream: RegisteredUpstream; readonly sentPrompt: readonly number[] | null },
  ): void {
    const { captured } = ended;
    if (started.attempt.isUnattributed || !upstream.continuesTokens) return;
    if (untrainableReason(captured, started.request) !== null) return;
    if (sentPrompt !== null && !isPromptOf(captured, sentPrompt)) {
      this.refused(upstream, 'it ignores them');
      return;
    }
    this.#turns.remember(started, ended);
  }

  /** No prompts are sent to the upstream as token ids from now on. */
  refused(upstream: RegisteredUpstream, reason: string): void {
    upstream.continuesTokens = false;
    const message = 'a model endpoint takes no prompts as token ids; rewritten earlier turns begin new rows';
    this.#log.warn({ upstream: upstream.id, reason }, message);
  }

  async #render(
    { started, upstream, model, headers, signal }: ContinuableCall,
    messages: readonly JsonObject[],
  ): Promise<readonly number[] | null> {
    const { tools, tool_choice: choice, chat_template_kwargs: settings, reasoning_effort: effort } = started.request;
    const ordered = adaptedMessages(messages, upstream.dialect.for(false));
    const kwargs = { ...(effort === undefined ? {} : { reasoning_effort: effort }), ...objectOf(settings) };
    const body: Record<string, JsonValue> = { model, messages: ordered ?? messages, add_generation_prompt: true };
    if (isJsonList(tools) && choice !== 'none') body.tools = tools;
    if (Object.keys(kwargs).length > 0) body.chat_template_kwargs = kwargs;
    try {
      const request = {
        path: `/..${tokenizeRoute}`,
        method: 'POST',
        headers,
        body: JSON.stringify(body),
        signal,
      } as const;
      const form = { adapted: null, isStreamed: false, isStreamable: false, observation: null };
      const wait = { timeoutMs: renderTimeoutMs, canFailOver: false };
      const response = await this.#client.send(upstream, { ...request, ...form }, wait);
      if (lacksRendering.has(response.status)) this.refused(upstream, `${tokenizeRoute} returned ${response.status}`);
      if (response.status !== 200 || typeof response.body !== 'string') return null;
      return numbersOf(parseJsonObject(response.body)?.tokens);
    } catch {
      // The call itself shows whether the upstream can be reached.
      return null;
    }
  }
}

/** Whether a response is to the prompt that was sent as token ids. */
export function isPromptOf({ promptTokenIds }: CapturedResponse, sent: readonly number[] | null): boolean {
  return sent !== null && promptTokenIds.length === sent.length && startsWith(promptTokenIds, sent);
}

/** The fields of a request with its prompt as token ids, by the names that engines have for it. */
export function promptFields(tokenIds: readonly number[], request: JsonObject): JsonObject {
  const fields = requestPromptFields.map(({ container, name }): readonly [string, JsonValue] =>
    container === null ? [name, tokenIds] : [container, { ...objectOf(request[container]), [name]: tokenIds }],
  );
  return Object.fromEntries(fields);
}

/** Whether a refusal is about the prompt's token ids. */
export function refusesPrompt(text: string): boolean {
  return requestPromptFields.some(({ container, name }) => text.includes(container ?? name));
}

/** The conversation with another response, which differs from the actual one in its last text or arguments only. */
function withOtherResponse(messages: readonly JsonObject[], index: number, text: string): readonly JsonObject[] {
  return messages.map((message, at) => {
    if (at !== index) return message;
    const calls = objectsOf(message.tool_calls);
    if (calls.length === 0) return { role: 'assistant', content: text };
    const changed = calls.map((call, position) =>
      position < calls.length - 1
        ? call
        : { ...call, function: { ...objectOf(call.function), arguments: argument(text) } },
    );
    return { role: 'assistant', content: message.content ?? '', tool_calls: changed };
  });
}

function argument(text: string): string {
  return JSON.stringify({ value: text });
}

/** What is rendered after the response; null where its end cannot be found. */
function tokensAfterResponse(
  [one, other]: readonly (readonly number[] | null)[],
  { tokenIds, responseIndex }: ContinuedTurn,
  messages: readonly JsonObject[],
): readonly number[] | null {
  const end = tokenIds.at(-1);
  if (!one || !other || end === undefined) return null;
  const length = commonEndLength(one, other);
  // A template that renders neither has no place for the response.
  if (length === one.length || length === other.length) return null;
  const tail = one.slice(one.length - length);
  const at = tail.indexOf(end);
  const isText = objectsOf(messages[responseIndex]?.tool_calls).length === 0;
  if (at === -1 || (isText && at !== 0)) return null;
  return tail.slice(at + 1);
}

function commonEndLength(one: readonly number[], other: readonly number[]): number {
  const longest = Math.min(one.length, other.length);
  let length = 0;
  while (length < longest && one[one.length - 1 - length] === other[other.length - 1 - length]) length += 1;
  return length;
}

function startsWith(tokenIds: readonly number[], start: readonly number[]): boolean {
  return tokenIds.length >= start.length && start.every((token, index) => token === tokenIds[index]);
}

function numbersOf(value: JsonValue | undefined): readonly number[] | null {
  if (!isJsonList(value)) return null;
  const numbers = value.filter((item) => typeof item === 'number');
  return numbers.length === value.length ? numbers : null;
}
