import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '@agentlightning/core';
import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { type GatewayFixture, startGateway } from './gateway-fixture.ts';

const start = 256;
const end = 257;

type Message = Readonly<Record<string, unknown>> & { readonly role: string };

/** What an engine does with prompts of token ids. */
type Prompts = 'prompt_token_ids' | 'input_ids' | 'kv_transfer_params' | 'ignored' | 'refused';

interface EngineOptions {
  readonly prompts?: Prompts;
  readonly hasTokenize?: boolean;
  readonly replies: readonly object[];
}

interface Engine extends AsyncDisposable {
  readonly baseUrl: string;
  /** Paths of the requests, in order. */
  readonly paths: readonly string[];
}

/** An engine whose template leaves out the reasoning of earlier turns, and writes the arguments of calls with spaces. */
async function startEngine({
  prompts = 'prompt_token_ids',
  hasTokenize = true,
  replies,
}: EngineOptions): Promise<Engine> {
  const paths: string[] = [];
  let calls = 0;
  const server = createServer(async (incoming, response) => {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part);
    const request = JSON.parse(Buffer.concat(parts).toString());
    paths.push(incoming.url ?? '');
    const send = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (incoming.url === '/tokenize') {
      const tokens = rendered(request.messages);
      return hasTokenize ? send(200, { count: tokens.length, max_model_len: 4096, tokens }) : send(404, {});
    }
    const given = givenPrompt(request, prompts);
    if (given === 'refused')
      return send(400, { error: { message: 'prompt_token_ids: extra inputs are not permitted' } });
    const reply = replies[calls] ?? {};
    calls += 1;
    send(200, completion(given ?? rendered(request.messages), reply));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    paths,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function givenPrompt(request: JsonObject, prompts: Prompts): readonly number[] | 'refused' | null {
  const { prompt_token_ids: own, input_ids: input, kv_transfer_params: transfer } = request as never;
  if (prompts === 'refused' && own !== undefined) return 'refused';
  if (prompts === 'prompt_token_ids') return own ?? null;
  if (prompts === 'input_ids') return input ?? null;
  return prompts === 'kv_transfer_params' && transfer !== undefined ? transfer['prompt_token_ids'] : null;
}

function rendered(messages: readonly Message[]): number[] {
  return [
    ...messages.flatMap((message) => [start, ...bytes(`${message.role}\n${textOf(message)}`), end]),
    start,
    ...bytes('assistant\n'),
  ];
}

function textOf(message: Message): string {
  const { content, tool_calls: calls = [] } = message as {
    readonly content?: string;
    readonly tool_calls?: OpenAI.Chat.ChatCompletionMessageFunctionToolCall[];
  };
  const text = (content ?? '').split('</think>').at(-1) ?? '';
  return (
    text +
    calls
      .map(({ function: { name, arguments: given } }) => `<call>${name} ${JSON.stringify(JSON.parse(given), null, 1)}`)
      .join('')
  );
}

function bytes(text: string): number[] {
  return [...Buffer.from(text)];
}

function completion(prompt: readonly number[], reply: object): object {
  const {
    sampled,
    finish_reason: finish = 'stop',
    ...message
  } = reply as Message & { readonly sampled?: string; readonly finish_reason?: string };
  const ids = [...bytes(sampled ?? String(message['content'])), ...(finish === 'length' ? [] : [end])];
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'policy',
    prompt_token_ids: prompt,
    choices: [
      {
        index: 0,
        message: { ...message, role: 'assistant' },
        finish_reason: finish,
        token_ids: ids,
        logprobs: { content: ids.map((id) => ({ token: String(id), logprob: -0.5 })) },
      },
    ],
    usage: { prompt_tokens: prompt.length, completion_tokens: ids.length, total_tokens: prompt.length + ids.length },
  };
}

const thoughts = ['one', 'two', 'three'].map((text) => ({ content: `<think>so ${text}</think>${text}` }));

async function startTrial(
  options: EngineOptions,
): Promise<{ readonly engine: Engine; readonly fixture: GatewayFixture } & AsyncDisposable> {
  const engine = await startEngine(options);
  const fixture = await startGateway({ upstream: { baseUrl: engine.baseUrl, model: 'policy' } });
  return {
    engine,
    fixture,
    [Symbol.asyncDispose]: async () => {
      await fixture[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
    },
  };
}

/** Three turns of an agent; the number of rows that its recorded calls form. */
async function converse(
  fixture: GatewayFixture,
  change: (reply: OpenAI.Chat.ChatCompletionMessage) => OpenAI.Chat.ChatCompletionMessageParam = (reply) => reply,
  parameters: Partial<OpenAI.Chat.ChatCompletionCreateParamsNonStreaming> = {},
): Promise<number> {
  const attempt = await fixture.attempt('train');
  const client = fixture.client(attempt);
  const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Begin.' }];
  for (const next of ['More.', 'Again.', '']) {
    const { choices } = await client.chat.completions.create({ model: 'any', messages, ...parameters });
    const reply = choices[0]?.message;
    if (reply === undefined) throw new Error('no reply');
    messages.push(change(reply));
    for (const call of reply.tool_calls ?? []) messages.push({ role: 'tool', tool_call_id: call.id, content: 'done' });
    if (!reply.tool_calls?.length) messages.push({ role: 'user', content: next });
  }
  return await rowsOf(fixture, attempt);
}

async function rowsOf(
  fixture: GatewayFixture,
  attempt: Awaited<ReturnType<GatewayFixture['attempt']>>,
): Promise<number> {
  let rows = 0;
  let row: readonly number[] = [];
  for (const call of await fixture.calls(attempt)) {
    expect(call.untrainableReason).toBeNull();
    const isContinued = row.length > 0 && row.every((token, index) => token === call.promptTokenIds[index]);
    if (!isContinued) rows += 1;
    row = [...call.promptTokenIds, ...(call.choices[0]?.responseTokenIds ?? [])];
  }
  return rows;
}

describe('a conversation whose earlier turns the template renders in other tokens', () => {
  it.each(['prompt_token_ids', 'input_ids', 'kv_transfer_params'] as const)(
    'is one row at an engine with %s',
    async (prompts) => {
      await using trial = await startTrial({ prompts, replies: thoughts });
      expect(await converse(trial.fixture)).toBe(1);
    },
  );

  it('keeps the prompts of the template after the sampled response', async () => {
    await using trial = await startTrial({ replies: thoughts });
    const attempt = await trial.fixture.attempt('train');
    const client = trial.fixture.client(attempt);
    const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Begin.' }];
    const first = await client.chat.completions.create({ model: 'any', messages });
    messages.push(first.choices[0]?.message ?? { role: 'assistant' }, { role: 'user', content: 'More.' });
    await client.chat.completions.create({ model: 'any', messages });
    const prompt = (await trial.fixture.calls(attempt))[1]?.promptTokenIds ?? [];
    const text = prompt
      .map((token) => (token < 256 ? String.fromCharCode(token) : token === start ? '[' : ']'))
      .join('');
    expect(text).toBe('[user\nBegin.][assistant\n<think>so one</think>one][user\nMore.][assistant\n');
    const [, second] = await trial.fixture.spans(attempt);
    expect(second?.attributes['agentlightning.request_changes']).toEqual([
      'messages: earlier turns sent as the token ids that were sampled',
    ]);
  });

  it('is one row when the agent leaves out the reasoning', async () => {
    await using trial = await startTrial({ replies: thoughts });
    const stripped = (reply: OpenAI.Chat.ChatCompletionMessage): OpenAI.Chat.ChatCompletionMessageParam => ({
      role: 'assistant',
      content: reply.content?.split('</think>').at(-1) ?? '',
    });
    expect(await converse(trial.fixture, stripped)).toBe(1);
  });

  it('is one row when calls are streamed', async () => {
    await using trial = await startTrial({ replies: thoughts });
    const { fixture } = trial;
    const attempt = await fixture.attempt('train');
    const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [];
    for (const content of ['Begin.', 'More.', 'Again.']) {
      messages.push({ role: 'user', content });
      const stream = await fixture.client(attempt).chat.completions.create({ model: 'any', messages, stream: true });
      let text = '';
      for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
      messages.push({ role: 'assistant', content: text });
    }
    expect(await rowsOf(fixture, attempt)).toBe(1);
  });

  it('is one row when arguments of tool calls are written in another form', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"left":1,"right":2}' } };
    const calling = {
      content: null,
      tool_calls: [call],
      finish_reason: 'tool_calls',
      sampled: '<call>add {"left":1,"right":2}',
    };
    await using trial = await startTrial({ replies: [calling, calling, { content: 'done' }] });
    const reordered = ({
      tool_calls: calls,
    }: OpenAI.Chat.ChatCompletionMessage): OpenAI.Chat.ChatCompletionMessageParam =>
      calls === undefined
        ? { role: 'assistant', content: 'done' }
        : {
            role: 'assistant',
            tool_calls: [
              { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{ "right": 2, "left": 1 }' } },
            ],
          };
    expect(await converse(trial.fixture, reordered)).toBe(1);
  });

  it.each(['responses', 'messages'] as const)('is one row for an agent with %s', async (api) => {
    await using trial = await startTrial({ replies: thoughts });
    const { fixture } = trial;
    const attempt = await fixture.attempt('train');
    const history: object[] = [];
    for (const content of ['Begin.', 'More.', 'Again.']) {
      history.push({ role: 'user', content });
      const body =
        api === 'responses' ? { model: 'any', input: history } : { model: 'any', max_tokens: 50, messages: history };
      const sent = await fetch(`${fixture.baseUrl(attempt)}/${api}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const answer = JSON.parse(await sent.text());
      if (api === 'responses') history.push(...answer.output);
      else history.push({ role: 'assistant', content: answer.content });
    }
    expect(await rowsOf(fixture, attempt)).toBe(1);
  });
});

describe('a conversation is sent as messages', () => {
  it.each([
    ['to an engine that ignores token ids', { prompts: 'ignored' }, 3],
    ['to an engine that refuses them', { prompts: 'refused' }, 3],
    ['to an engine without /tokenize', { hasTokenize: false }, 1],
  ] as const)('%s, which is asked once', async (_, options, renderings) => {
    await using trial = await startTrial({ ...options, replies: thoughts });
    expect(await converse(trial.fixture)).toBe(3);
    expect(trial.engine.paths.filter((path) => path === '/tokenize')).toHaveLength(renderings);
  });

  it('when its template renders it in the same tokens', async () => {
    await using trial = await startTrial({
      prompts: 'refused',
      replies: ['one', 'two', 'three'].map((content) => ({ content })),
    });
    expect(await converse(trial.fixture)).toBe(1);
    expect(trial.engine.paths.filter((path) => path === '/tokenize')).toHaveLength(2);
  });

  it.each([
    ['a response was cut', [{ content: '<think>so</think>on', finish_reason: 'length' }, ...thoughts], {}],
    ['other texts end responses', thoughts, { stop: ['.'] }],
  ] as const)('when %s', async (_, replies, parameters) => {
    await using trial = await startTrial({ replies });
    expect(await converse(trial.fixture, (reply) => reply, parameters as never)).toBeGreaterThan(1);
  });

  it('when the agent rewrote a turn', async () => {
    await using trial = await startTrial({ replies: thoughts });
    expect(await converse(trial.fixture, () => ({ role: 'assistant', content: 'other' }))).toBe(3);
    expect(trial.engine.paths).not.toContain('/tokenize');
  });

  it('when the tools changed, or another attempt had the conversation', async () => {
    await using trial = await startTrial({ replies: thoughts });
    const { fixture } = trial;
    const attempt = await fixture.attempt('train');
    const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Begin.' }];
    const first = await fixture.client(attempt).chat.completions.create({ model: 'any', messages });
    messages.push(first.choices[0]?.message ?? { role: 'assistant' }, { role: 'user', content: 'More.' });
    const tools: OpenAI.Chat.ChatCompletionTool[] = [{ type: 'function', function: { name: 'add' } }];
    await fixture.client(attempt).chat.completions.create({ model: 'any', messages, tools });
    await fixture.client(await fixture.attempt('train')).chat.completions.create({ model: 'any', messages });
    expect(trial.engine.paths).not.toContain('/tokenize');
  });
});
