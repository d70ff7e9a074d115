import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject, ModelCall } from '@agentlightning/core';
import { parseJsonObject } from '@agentlightning/core/internal';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { type BareUpstream, respondJson, startGateway, startUpstream } from './gateway-fixture.ts';

/** One deviation of an engine, a template or a harness from the documented APIs: a file of `test/deviations`. */
interface Deviation {
  /** Who reported it, or where it is documented. */
  readonly source: string;
  /** Responses to requests with these fields. */
  readonly refusals?: readonly { readonly if: JsonObject; readonly status: number; readonly body: JsonObject }[];
  /** Requests that `refusal` is the response to. */
  readonly rejects?: 'system' | 'late-system';
  readonly refusal?: JsonObject;
  /** The status of `refusal`. @default 400 */
  readonly status?: number;
  /** The messages of the request, as `role: text`. @default one question */
  readonly request?: readonly string[];
  /** The message of a whole response. */
  readonly message: JsonObject;
  /** The deltas of a streamed one. @default the whole message */
  readonly deltas?: readonly JsonObject[];
  /** Chunks at the beginning of a streamed one. */
  readonly chunks?: readonly JsonObject[];
  /** Whether a streamed one has comments. */
  readonly comments?: boolean;
  /** The lines of a streamed one, instead of all of the above. */
  readonly lines?: readonly string[];
  /** The end of each of them. @default '\n' */
  readonly lineEnd?: string;
  /** Fields of the body of a whole one. */
  readonly body?: JsonObject;
  /** Text before the body of a whole one. */
  readonly before?: string;
  /** @default those of the format */
  readonly contentType?: string;
  /** Further fields of the choice. */
  readonly choice?: JsonObject;
  readonly expected: {
    readonly text?: string;
    readonly reasoning?: string;
    readonly calls?: readonly (readonly [string, JsonObject])[];
    /** The finish reason. @default by the calls */
    readonly finish?: string;
    /** Part of the error. */
    readonly error?: string;
    readonly isTrainable?: boolean;
    /** The messages at the model, as `role: text`. */
    readonly prompt?: readonly string[];
    readonly changes?: readonly string[];
  };
}

/** What a client reads from a response. */
interface Seen {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
  /** In the words of Chat Completions. */
  readonly finish: string | null;
}

const folder = join(import.meta.dirname, 'deviations');
const deviations = readdirSync(folder).map((file): [string, Deviation] => [
  file.replace('.json', ''),
  JSON.parse(readFileSync(join(folder, file), 'utf8')),
]);

async function engineOf(deviation: Deviation): Promise<BareUpstream> {
  const upstream = await startUpstream((response) => {
    const request = parseJsonObject(upstream.requests.at(-1)?.body ?? '') ?? {};
    // Engines of Chat Completions have no other APIs.
    if (/\/(responses|messages)$/.test(upstream.requests.at(-1)?.path ?? '')) return void response.writeHead(404).end();
    const refusal = refusalOf(deviation, request);
    if (refusal !== null) {
      response.writeHead(refusal.status, { 'content-type': 'application/json' }).end(JSON.stringify(refusal.body));
      return;
    }
    const logprobs = { content: [7, 8].map((id) => ({ token: String(id), logprob: -0.1 })) };
    const head = { id: `chatcmpl-${upstream.requests.length}`, created: 1, model: 'm' };
    const choice = { index: 0, finish_reason: 'stop', logprobs, ...deviation.choice };
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    if (request.prompt !== undefined) {
      const plain = { tokens: ['7', '8'], token_logprobs: [-0.1, -0.1] };
      const text = { ...head, choices: [{ ...choice, text: deviation.message.content ?? '', logprobs: plain }], usage };
      if (request.stream !== true) return respondJson(response, text);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return void response.end(`data: ${JSON.stringify(text)}\n\ndata: [DONE]\n\n`);
    }
    if (request.stream !== true) {
      const body = { ...head, choices: [{ ...choice, message: deviation.message }], usage, ...deviation.body };
      response.writeHead(200, { 'content-type': deviation.contentType ?? 'application/json' });
      return void response.end(`${deviation.before ?? ''}${JSON.stringify(body)}`);
    }
    const { lines, lineEnd = '\n', contentType = 'text/event-stream' } = deviation;
    if (lines !== undefined) {
      response.writeHead(200, { 'content-type': contentType });
      return void response.end(lines.map((line) => `${line}${lineEnd}`).join(''));
    }
    const deltas = deviation.deltas ?? [deviation.message];
    const chunks = [
      ...(deviation.chunks ?? []),
      ...deltas.map((delta) => ({ ...head, choices: [{ index: 0, delta, finish_reason: null }] })),
      { ...head, choices: [{ ...choice, delta: {} }], usage },
    ];
    response.writeHead(200, { 'content-type': contentType });
    if (deviation.comments === true) response.write(': OPENROUTER PROCESSING\n\n');
    response.end(`${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`);
  });
  return upstream;
}

function refusalOf(
  { refusals = [], rejects, refusal = {}, status = 400 }: Deviation,
  request: JsonObject,
): { readonly status: number; readonly body: JsonObject } | null {
  const matching = refusals.find(({ if: fields }) =>
    Object.entries(fields).every(([name, value]) => request[name] === value),
  );
  if (matching !== undefined) return matching;
  const roles = messagesOf(request).map((message) => message.split(':')[0]);
  const isRejected = rejects !== undefined && roles.lastIndexOf('system') >= (rejects === 'system' ? 0 : 1);
  return isRejected ? { status, body: refusal } : null;
}

/** The messages of a request as `role: text`. */
function messagesOf({ messages }: JsonObject): readonly string[] {
  return Array.isArray(messages) ? messages.map(({ role, content }) => `${role}: ${content}`) : [];
}

interface Message {
  readonly role: 'system' | 'user';
  readonly content: string;
}

type Send = (baseURL: string, messages: readonly Message[]) => Promise<Seen>;

const model = 'm';

function openaiAt(baseURL: string): OpenAI {
  return new OpenAI({ baseURL, apiKey: 'unused', maxRetries: 0 });
}

function anthropicAt(baseURL: string): Anthropic {
  return new Anthropic({ baseURL, apiKey: 'unused', maxRetries: 0 });
}

/** Anthropic's requests have the first system message in a field. */
function messagesRequest([first, ...rest]: readonly Message[]): Anthropic.MessageCreateParamsNonStreaming {
  const messages = (first?.role === 'system' ? rest : [first, ...rest]) as Anthropic.MessageParam[];
  return { model, max_tokens: 9, messages, ...(first?.role === 'system' ? { system: first.content } : {}) };
}

/** The fields in which engines return reasoning. */
interface Reasoning {
  readonly reasoning_content?: string | null;
  readonly reasoning?: string | null;
}

function seenChat({ message, finish_reason: finish }: OpenAI.ChatCompletion.Choice): Seen {
  const { reasoning_content: content, reasoning }: Reasoning = message as Reasoning;
  // As clients that only test for a list.
  if (message.tool_calls !== undefined) expect(message.tool_calls).not.toEqual([]);
  const calls = (message.tool_calls ?? []).filter((call) => call.type === 'function');
  return {
    text: message.content ?? '',
    reasoning: content ?? reasoning ?? '',
    calls: calls.map(({ id, function: { name, arguments: text } }) => ({ id, name, input: JSON.parse(text) })),
    finish,
  };
}

async function seenChunks(chunks: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<Seen> {
  const seen = {
    text: '',
    reasoning: '',
    finish: null as string | null,
    calls: new Map<number, { id: string; name: string; text: string }>(),
  };
  for await (const { choices } of chunks) {
    const [choice] = choices;
    if (choice === undefined) continue;
    const { delta } = choice;
    const { reasoning_content: content, reasoning }: Reasoning = delta as Reasoning;
    seen.text += delta.content ?? '';
    seen.reasoning += content ?? reasoning ?? '';
    seen.finish ??= choice.finish_reason;
    expect(delta.tool_calls).not.toEqual([]);
    // As the most literal clients do: every field of a chunk is appended to that of the call at its index.
    for (const { index, id, function: target } of delta.tool_calls ?? []) {
      const call = seen.calls.get(index) ?? { id: '', name: '', text: '' };
      seen.calls.set(index, call);
      if (id !== undefined) call.id += String(id);
      if (target?.name !== undefined) call.name += String(target.name);
      if (target?.arguments !== undefined) call.text += String(target.arguments);
    }
  }
  const calls = [...seen.calls.values()].map(({ id, name, text }) => ({ id, name, input: JSON.parse(text) }));
  return { ...seen, calls };
}

function seenMessage({ content, stop_reason: reason }: Anthropic.Message): Seen {
  return {
    finish: reason === 'tool_use' ? 'tool_calls' : reason === 'max_tokens' ? 'length' : 'stop',
    text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    reasoning: content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
    calls: content.flatMap((block) => (block.type === 'tool_use' ? [block] : [])),
  };
}

function seenResponse({
  output,
  output_text: text,
  status,
}: Pick<OpenAI.Responses.Response, 'output' | 'output_text' | 'status'>): Seen {
  const isCall = output.some(({ type }) => type === 'function_call');
  return {
    finish: status === 'incomplete' ? 'length' : isCall ? 'tool_calls' : 'stop',
    text,
    reasoning: output
      .map((item) => (item.type === 'reasoning' ? item.summary.map((part) => part.text).join('') : ''))
      .join(''),
    calls: output.flatMap((item) =>
      item.type === 'function_call' ? [{ id: item.call_id, name: item.name, input: JSON.parse(item.arguments) }] : [],
    ),
  };
}

const apis: readonly (readonly [string, Send])[] = [
  [
    'Chat Completions, whole',
    async (baseURL, messages) => {
      const { choices } = await openaiAt(baseURL).chat.completions.create({ model, messages: [...messages] });
      return seenChat(choices[0] ?? expect.unreachable());
    },
  ],
  [
    'Chat Completions, streamed',
    async (baseURL, messages) =>
      await seenChunks(
        await openaiAt(baseURL).chat.completions.create({ model, messages: [...messages], stream: true }),
      ),
  ],
  [
    'Responses, whole',
    async (baseURL, input) => seenResponse(await openaiAt(baseURL).responses.create({ model, input: [...input] })),
  ],
  [
    'Responses, streamed',
    async (baseURL, input) =>
      seenResponse(
        await openaiAt(baseURL)
          .responses.stream({ model, input: [...input] })
          .finalResponse(),
      ),
  ],
  [
    'Messages, whole',
    async (baseURL, messages) => seenMessage(await anthropicAt(baseURL).messages.create(messagesRequest(messages))),
  ],
  [
    'Messages, streamed',
    async (baseURL, messages) =>
      seenMessage(await anthropicAt(baseURL).messages.stream(messagesRequest(messages)).finalMessage()),
  ],
];

const question = ['user: Any apples?'];

function messageOf(text: string): Message {
  const [role, ...content] = text.split(': ');
  return { role: role === 'system' ? role : 'user', content: content.join(': ') };
}

/** The message of the record as a client of Chat Completions would read it. */
function recordedMessage(call: ModelCall | undefined): Seen {
  const [choice] = (call?.response?.choices ?? []) as unknown as readonly OpenAI.ChatCompletion.Choice[];
  return seenChat(choice ?? expect.unreachable());
}

function expectSeen({ text, reasoning, calls, finish }: Seen, { expected }: Deviation): void {
  expect(text).toBe(expected.text ?? '');
  expect(reasoning).toBe(expected.reasoning ?? '');
  expect(finish).toBe(expected.finish ?? (expected.calls === undefined ? 'stop' : 'tool_calls'));
  expect(calls.map(({ name, input }) => [name, input])).toEqual(expected.calls ?? []);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
  expect(calls.every(({ id }) => id !== '')).toBe(true);
}

describe.each(deviations)('the deviation %s', (_, deviation) => {
  it.each(apis)('is handled in %s, twice', async (_name, send) => {
    await using upstream = await engineOf(deviation);
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const attempt = await fixture.attempt();
    const messages = (deviation.request ?? question).map(messageOf);
    const { expected } = deviation;
    const sent = (): Promise<Seen> => send(fixture.baseUrl(attempt), messages);
    if (expected.error !== undefined) {
      await expect(sent()).rejects.toThrow(expected.error);
      await fixture.gateway.drain();
      const [call] = await fixture.calls(attempt);
      return expect(call).toMatchObject({
        isTrainable: false,
        untrainableReason: expect.stringContaining(expected.error),
      });
    }
    for (const seen of [await sent(), await sent()]) expectSeen(seen, deviation);
    const calls = await fixture.calls(attempt);
    for (const call of calls) expectSeen(recordedMessage(call), deviation);
    expect(calls.map(({ isTrainable }) => isTrainable)).toEqual(Array(2).fill(expected.isTrainable ?? false));
    const last = parseJsonObject(upstream.requests.at(-1)?.body ?? '') ?? {};
    if (expected.prompt !== undefined) expect(messagesOf(last)).toEqual(expected.prompt);
    const spans = await fixture.spans(attempt);
    expect(spans.map(({ attributes }) => attributes['agentlightning.request_changes'])).toEqual(
      Array(2).fill(expected.changes),
    );
  });
});

const plainTexts = deviations.filter(
  ([, { expected, rejects }]) => expected.isTrainable === true && rejects === undefined,
);

describe.each(plainTexts)('the deviation %s', (_, deviation) => {
  it('is handled in Completions, whole and streamed', async () => {
    await using upstream = await engineOf(deviation);
    await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
    const attempt = await fixture.attempt();
    const { completions } = fixture.client(attempt);
    const request = { model, prompt: 'Any apples?' };
    expect((await completions.create(request)).choices[0]?.text).toBe(deviation.expected.text);
    for (const _again of [1, 2]) {
      let text = '';
      for await (const chunk of await completions.create({ ...request, stream: true }))
        text += chunk.choices[0]?.text ?? '';
      expect(text).toBe(deviation.expected.text);
    }
    expect((await fixture.calls(attempt)).map(({ isTrainable }) => isTrainable)).toEqual([true, true, true]);
  });
});
