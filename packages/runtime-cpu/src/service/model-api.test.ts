import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Completion,
  type CompletionChunk,
  type ModelService,
  plainQuestion,
  startModelService,
  teach,
  tokensOf,
} from '../../test/model-service.ts';
import { datum } from '../../test/small-model.ts';
import { encodeText } from '../text/tokenizer.ts';
import { specialToken } from '../text/vocabulary.ts';

const withTokens = { logprobs: true, return_token_ids: true } as const;

const adder: OpenAI.Chat.ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'add',
    parameters: { type: 'object', properties: { left: { type: 'integer' }, right: { type: 'integer' } } },
  },
};

let service: ModelService;

beforeAll(async () => {
  service = await startModelService();
});

afterAll(() => service.close());

describe('a complete response', () => {
  test('has tokens in the fields of vLLM, with log-probabilities', async () => {
    const completion = await service.ask({ ...withTokens, top_logprobs: 2 });
    const [choice] = completion.choices;
    expect(completion).toMatchObject({ object: 'chat.completion', model: 'first', policy_version: 0 });
    expect(completion.prompt_token_ids).toEqual([
      specialToken.user,
      ...encodeText('Count to three.'),
      specialToken.assistant,
    ]);
    expect(choice?.token_ids).toHaveLength(8);
    const entries = choice?.logprobs?.content ?? [];
    expect(entries).toHaveLength(8);
    for (const { logprob, top_logprobs: top } of entries) {
      expect(logprob).toBeLessThan(0);
      expect(top.map((other) => other.logprob)).toEqual(top.map((other) => other.logprob).toSorted((a, b) => b - a));
      expect(top).toHaveLength(2);
    }
    expect(completion.usage).toMatchObject({ prompt_tokens: 17, completion_tokens: 8, total_tokens: 25 });
  });

  test('accepts null for absent message fields, as sent by OpenAI Agents', async () => {
    const parts: OpenAI.Chat.ChatCompletionContentPartText[] = JSON.parse(
      '[{"type":"text","text":"no","refusal":null}]',
    );
    const messages = [
      { role: 'user', content: 'A' } as const,
      { role: 'assistant', content: parts } as const,
      { role: 'user', content: 'B' } as const,
    ];
    const { prompt_token_ids: prompt } = await service.ask({ ...withTokens, messages });
    const { user, assistant, end } = specialToken;
    expect(prompt).toEqual([user, 65, assistant, ...encodeText('no'), end, user, 66, assistant]);
  });

  test('omits tokens unless requested', async () => {
    const completion = await service.ask({});
    expect(completion).not.toHaveProperty('prompt_token_ids');
    expect(completion.choices[0]).not.toHaveProperty('token_ids');
    expect(completion.choices[0]?.logprobs).toBeNull();
  });

  test('is the forced message, with its tokens and their log-probabilities, whatever the limits', async () => {
    const call = { id: 'c', type: 'function', function: { name: 'add', arguments: '{"left":2,"right":3}' } } as const;
    const completion = await service.ask({
      ...withTokens,
      tools: [adder],
      max_tokens: 1,
      stop: '2',
      forced_message: { content: 'Hi', tool_calls: [call] },
    });
    const [choice] = completion.choices;
    expect(choice).toMatchObject({
      finish_reason: 'tool_calls',
      message: { content: 'Hi', tool_calls: [{ function: call.function }] },
    });
    const { firstTool, argument, end } = specialToken;
    expect(choice?.token_ids).toEqual([...encodeText('Hi'), firstTool, 50, argument, 51, end]);
    for (const { logprob } of choice?.logprobs?.content ?? []) expect(logprob).toBeLessThan(0);

    const again = await service.ask({ ...withTokens, seed: 7, forced_message: { content: 'Hi' } });
    const sampled = await service.ask({ ...withTokens, seed: 7 });
    expect(again.choices[0]?.logprobs?.content?.map(({ token }) => token)).toEqual(['H', 'i', '<|end|>']);
    expect(sampled.choices[0]?.message.content).not.toBe('Hi');
  });

  test('ends with "length" at max_tokens, by either name, and at the end of the context', async () => {
    const [old, current, long] = await Promise.all([
      service.ask({ max_tokens: 3 }),
      service.ask({ max_tokens: 9, max_completion_tokens: 4 }),
      service.ask({ messages: [{ role: 'user', content: 'x'.repeat(2045) }], max_tokens: 100 }),
    ]);
    const ends = [old, current, long].map(({ choices, usage }) => [
      choices[0]?.finish_reason,
      usage?.completion_tokens,
    ]);
    expect(ends).toEqual([
      ['length', 3],
      ['length', 4],
      ['length', 1],
    ]);
  });

  test('selects the likeliest token at temperature 0, for any seed', async () => {
    const [one, other] = await Promise.all(
      [1, 2].map((seed) => service.ask({ ...withTokens, temperature: 0, top_logprobs: 1, seed })),
    );
    expect(one?.choices).toEqual(other?.choices);
    for (const { token, top_logprobs: top } of one?.choices[0]?.logprobs?.content ?? []) {
      expect(top[0]?.token).toBe(token);
    }
  });

  test('is deterministic by seed, alone or in a batch, and differs for another seed', async () => {
    const alone = await service.ask({ ...withTokens, seed: 7, max_tokens: 20 });
    const company = Array.from({ length: 20 }, (_, index) =>
      service.ask({ messages: [{ role: 'user', content: `Say ${'x'.repeat(index)}` }], seed: index, max_tokens: 30 }),
    );
    const again = service.ask({ ...withTokens, seed: 7, max_tokens: 20 });
    const late = Promise.all(company).then(() => service.ask({ ...withTokens, seed: 7, max_tokens: 20 }));
    const other = await service.ask({ ...withTokens, seed: 8, max_tokens: 20 });
    expect((await again).choices).toEqual(alone.choices);
    expect((await late).choices).toEqual(alone.choices);
    expect(other.choices).not.toEqual(alone.choices);
  });

  test('returns n different choices, the first as for n = 1', async () => {
    const [one, three] = await Promise.all([service.ask(withTokens), service.ask({ ...withTokens, n: 3 })]);
    expect(three?.choices[0]).toEqual(one?.choices[0]);
    expect(three?.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    const responses = three?.choices.map(({ token_ids: ids }) => ids?.join(' '));
    expect(new Set(responses).size).toBe(3);
    expect(three?.usage).toMatchObject({ prompt_tokens: 17, completion_tokens: 24 });
  });
});

describe('a streamed response', () => {
  test('equals the complete one', async () => {
    for (const question of [
      withTokens,
      { ...withTokens, n: 3, max_tokens: 40 },
      { ...withTokens, stop: ['e', '  '] },
    ]) {
      const [whole, chunks] = await Promise.all([service.ask(question), service.stream(question)]);
      expect(joined(chunks)).toEqual(
        whole.choices.map(({ message, finish_reason, token_ids, logprobs }) => ({
          content: message.content,
          finish_reason,
          token_ids,
          logprobs: logprobs?.content,
        })),
      );
      expect(chunks[0]?.prompt_token_ids).toEqual(whole.prompt_token_ids);
      expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
    }
  });

  test('has the usage when requested, in a separate chunk before [DONE]', async () => {
    const chunks = await service.stream({ stream_options: { include_usage: true } });
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 17, completion_tokens: 8 } });
    for (const chunk of chunks.slice(0, -1)) expect(chunk.usage).toBeNull();
    for (const chunk of await service.stream({})) expect(chunk).not.toHaveProperty('usage');
    const raw = await fetch(`${service.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: service.authorization,
      body: JSON.stringify({ ...plainQuestion, stream: true }),
    });
    expect(raw.headers.get('content-type')).toBe('text/event-stream');
    expect(raw.headers.get('x-agl-policy-version')).toBe('0');
    expect((await raw.text()).split('\n\n').slice(-2)).toEqual(['data: [DONE]', '']);
  });

  test('interleaves the choices', async () => {
    const chunks = await service.stream({ n: 2, max_tokens: 30 });
    const order = chunks.map(({ choices }) => choices[0]?.index);
    expect(order.indexOf(1, 2)).toBeLessThan(order.lastIndexOf(0) - 20);
  });

  test.each([true, false])('stops sampling on disconnect (streamed: %s)', async (stream) => {
    const model = await service.newModel(`left-alone-${stream}`);
    const long = { ...plainQuestion, model: model.modelId, max_tokens: 490 };
    const fewMs = await elapsedMs(async () => void (await service.ask({ ...long, n: 8 })));
    const reader = new AbortController();
    const left = fetch(`${service.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: service.authorization,
      body: JSON.stringify({ ...long, stream, n: 128 }),
      signal: reader.signal,
    });
    const lost = expect(left.then(async (response) => void (await response.text()))).rejects.toThrow('aborted');
    if (stream) await left;
    else await service.ask({ model: model.modelId, max_tokens: 1 });
    reader.abort();
    // A pause waits for responses in progress: 16 times as many tokens if the disconnect were missed.
    const manyMs = await elapsedMs(async () => expect(await model.pause('drain')).toMatchObject({ inFlight: 0 }));
    expect(manyMs).toBeLessThan(fewMs * 4);
    await lost;
  });
});

describe('a model trained over gRPC', () => {
  test('calls a tool, and the next turn continues with the same tokens', async () => {
    const model = await service.newModel('caller');
    const first = { ...withTokens, model: 'caller', tools: [adder], temperature: 0, max_tokens: 20 };
    const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [{ role: 'user', content: '12+7?' }];
    const { prompt_token_ids: prompt = [] } = await service.ask({ ...first, messages });
    const call = [specialToken.firstTool, ...encodeText('12'), specialToken.argument, ...encodeText('7')];
    await teach(model, prompt, [...call, specialToken.end]);

    const completion = await service.ask({ ...first, messages });
    const message = completion.choices[0]?.message;
    expect(completion.choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } });
    expect(completion.policy_version).toBe(1);
    const [toolCall] = message?.tool_calls ?? [];
    expect(toolCall).toMatchObject({ type: 'function', function: { name: 'add', arguments: '{"left":12,"right":7}' } });
    expect(joined(await service.stream({ ...first, messages }))).toMatchObject([
      { content: null, finish_reason: 'tool_calls', token_ids: tokensOf(completion).ids },
    ]);

    const next = [
      ...messages,
      message ?? [],
      { role: 'tool' as const, tool_call_id: toolCall?.id ?? '', content: '19' },
    ];
    const second = await service.ask({ ...first, messages: next.flat() });
    const sofar = [...prompt, ...tokensOf(completion).ids];
    expect(second.prompt_token_ids?.slice(0, sofar.length)).toEqual(sofar);
    expect(second.usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThanOrEqual(sofar.length - 1);
  });

  test('is cut off before a stop text, which stays in the tokens', async () => {
    const model = await service.newModel('speaker');
    const question = { ...withTokens, model: 'speaker', temperature: 0, max_tokens: 20 };
    const { prompt_token_ids: prompt = [] } = await service.ask(question);
    await teach(model, prompt, [...encodeText('one, two, three'), specialToken.end]);
    const whole = await service.ask(question);
    expect(whole.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'one, two, three' } });
    for (const stop of ['wo', ['xyz', 'wo', 'three']]) {
      const [cut, chunks] = await Promise.all([
        service.ask({ ...question, stop }),
        service.stream({ ...question, stop }),
      ]);
      expect(cut.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'one, t' } });
      expect(tokensOf(cut).ids).toEqual(encodeText('one, two'));
      expect(joined(chunks)).toMatchObject([{ content: 'one, t', finish_reason: 'stop' }]);
    }
  });

  test('has the same log-probabilities in trainer and sampler', async () => {
    const model = await service.newModel('twin');
    const { prompt_token_ids: lesson = [] } = await service.ask({ ...withTokens, model: 'twin' });
    await teach(model, lesson, encodeText('some other weights'));
    const gaps = [1, 0.6].map(async (temperature) => {
      const completion = await service.ask({ ...withTokens, model: 'twin', temperature, max_tokens: 40, seed: 3 });
      const { ids, logprobs } = tokensOf(completion);
      const data = [datum([...(completion.prompt_token_ids ?? []), ...ids], { count: ids.length, temperature })];
      const [trained = new Float32Array()] = await model.logprobs({ data });
      return Math.max(...Array.from(trained, (value, at) => Math.abs(value - (logprobs[at] ?? Number.NaN))));
    });
    for (const gap of await Promise.all(gaps)) expect(gap).toBeLessThan(1e-4);
  });

  test('serves its policy version once published or loaded', async () => {
    const model = await service.newModel('versioned');
    const versions = async (): Promise<readonly unknown[]> => {
      const { data, response } = await service.openai.chat.completions
        .create({ ...plainQuestion, model: 'versioned' })
        .withResponse();
      return [(data as Completion).policy_version, response.headers.get('x-agl-policy-version')];
    };
    expect(await versions()).toEqual([0, '0']);
    await (await model.publishWeights()).result;
    expect(await versions()).toEqual([1, '1']);
    const saved = await (await model.saveCheckpoint('one', {})).result;
    await (await model.publishWeights()).result;
    expect(await versions()).toEqual([2, '2']);
    await (await model.loadCheckpoint(saved.uri)).result;
    expect(await versions()).toEqual([1, '1']);
  });

  test('does not affect other models', async () => {
    const [taught, other] = [await service.newModel('taught'), await service.newModel('other')];
    const [before, same] = await Promise.all(
      ['other', 'taught'].map((model) => service.ask({ ...withTokens, model, temperature: 0 })),
    );
    expect(same?.choices).toEqual(before?.choices);
    await teach(taught, before?.prompt_token_ids ?? [], encodeText('I am another'));
    const [after, changed] = await Promise.all(
      ['other', 'taught'].map((model) => service.ask({ ...withTokens, model, temperature: 0 })),
    );
    expect(after?.choices).toEqual(before?.choices);
    expect(changed?.choices).not.toEqual(before?.choices);
    const names = (await service.openai.models.list()).data.map(({ id }) => id);
    expect(names).toEqual(expect.arrayContaining(['first', 'taught', 'other']));
    await other.unload();
    await expect(service.ask({ model: 'other' })).rejects.toMatchObject({ status: 404 });
  });
});

async function elapsedMs(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** The content of a stream's chunks, combined by choice as in OpenAI's clients. */
function joined(chunks: readonly CompletionChunk[]): readonly object[] {
  const indexes = new Set(chunks.flatMap(({ choices }) => choices.map(({ index }) => index)));
  return [...indexes].toSorted().map((index) => {
    const parts = chunks.flatMap(({ choices }) => choices.filter((choice) => choice.index === index));
    const content = parts.map(({ delta }) => delta.content ?? '').join('');
    const hasCalls = parts.some(({ delta }) => delta.tool_calls !== undefined);
    return {
      content: hasCalls && content === '' ? null : content,
      finish_reason: parts.at(-1)?.finish_reason,
      token_ids: parts.flatMap(({ token_ids: ids = [] }) => ids),
      logprobs: parts.flatMap(({ logprobs }) => logprobs?.content ?? []),
    };
  });
}

describe('a prompt of token ids', () => {
  const tokenize = (body: object, headers = service.authorization): Promise<Response> =>
    fetch(service.baseUrl.replace(/\/v1$/, '/tokenize'), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'first', messages: plainQuestion.messages, ...body }),
    });

  test('is what the messages are rendered as, and replaces them', async () => {
    const plain = await service.ask(withTokens);
    expect(await (await tokenize({})).json()).toEqual({ count: 17, tokens: plain.prompt_token_ids });
    expect(await (await tokenize({ add_generation_prompt: false })).json()).toMatchObject({ count: 16 });
    const tokens = [...(plain.prompt_token_ids ?? []), 65, specialToken.end, specialToken.assistant];
    const given = await service.ask({ ...withTokens, prompt_token_ids: tokens });
    expect(given.prompt_token_ids).toEqual(tokens);
    expect(given.usage?.prompt_tokens).toBe(20);
  });

  test('requires the key, a known model, and tokens of the vocabulary', async () => {
    expect((await tokenize({}, {})).status).toBe(401);
    expect((await tokenize({ model: 'other' })).status).toBe(404);
    await expect(service.ask({ prompt_token_ids: [100_000] })).rejects.toMatchObject({ status: 400 });
    await expect(service.ask({ prompt_token_ids: [] })).rejects.toMatchObject({ status: 400 });
  });
});
