import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connectRuntime, type RuntimeConnection, type RuntimeModel } from '@agentlightning/runtime';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTinkerRuntime } from '../src/index.ts';
import { startFakeTinkerServer, writeTinyModelFolder } from '../src/testing/index.ts';

/** A response with the fields of vLLM. */
interface Completion extends OpenAI.Chat.ChatCompletion {
  readonly choices: (OpenAI.Chat.ChatCompletion.Choice & { readonly token_ids?: number[] })[];
  readonly prompt_token_ids?: number[];
}

let folder = '';
let runtime: RuntimeConnection;
let model: RuntimeModel;
let openai: OpenAI;
let close: () => Promise<void>;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tinker-endpoint-'));
  await writeTinyModelFolder(path.join(folder, 'model'));
  const server = await startFakeTinkerServer({ dialect: 'binary', directory: path.join(folder, 'weights') });
  const started = await startTinkerRuntime({
    serverUrl: server.url,
    serverKey: server.apiKey,
    model: 'tiny-chat',
    tokenizer: path.join(folder, 'model'),
    checkpointDir: path.join(folder, 'checkpoints'),
  });
  runtime = await connectRuntime({ address: started.address, apiKey: started.apiKey });
  model = await runtime.createModel({ baseModel: 'tiny-chat', modelId: 'm', seed: 1, lora: { rank: 8 } });
  openai = new OpenAI({ baseURL: started.inferenceUrl, apiKey: started.apiKey, maxRetries: 0 });
  close = async () => {
    await runtime.close();
    await started.close();
    await server.close();
  };
}, 60_000);

afterAll(async () => {
  await close();
  await rm(folder, { recursive: true, force: true });
});

const question = { model: 'm', messages: [{ role: 'user' as const, content: '2 + 3?' }] };
const add = { type: 'function' as const, function: { name: 'add', parameters: { type: 'object' } } };
const withTokens = { logprobs: true, return_token_ids: true };

/** The log-probabilities of a response by a pass of the training interface. */
async function scored(prompt: readonly number[], response: readonly number[]): Promise<readonly number[]> {
  const datum = {
    tokenIds: Int32Array.from([...prompt, ...response]),
    trained: [{ start: prompt.length, end: prompt.length + response.length }],
    samplingLogprobs: new Float32Array(response.length),
    advantages: new Float32Array(response.length),
    weights: new Float32Array(response.length).fill(1),
    temperature: 1,
    rolloutId: 'r',
    groupId: 'g',
    minPolicyVersion: 0,
    maxPolicyVersion: 0,
  };
  const [logprobs] = await model.logprobs({ data: [datum] });
  return [...(logprobs ?? [])];
}

test('a forced message with a tool call is returned with its tokens, and their log-probabilities are those of training', async () => {
  const call = { id: 'c', type: 'function' as const, function: { name: 'add', arguments: '{"a":2}' } };
  const forced = { forced_message: { content: null, tool_calls: [call] } };
  const completion = (await openai.chat.completions.create({
    ...question,
    ...withTokens,
    ...forced,
    tools: [add],
  })) as Completion;
  const [choice] = completion.choices;
  expect(choice?.finish_reason).toBe('tool_calls');
  expect(choice?.message.tool_calls).toMatchObject([{ function: { name: 'add', arguments: '{"a":2}' } }]);
  const expected = await scored(completion.prompt_token_ids ?? [], choice?.token_ids ?? []);
  const logprobs = choice?.logprobs?.content?.map(({ logprob }) => logprob) ?? [];
  expect(logprobs).toHaveLength(expected.length);
  for (const [index, logprob] of logprobs.entries()) expect(logprob).toBeCloseTo(expected[index] ?? Number.NaN, 4);
}, 60_000);

test('a server that samples from some tokens only is refused before the first rollout', async () => {
  const truncating = await startFakeTinkerServer({
    dialect: 'json',
    directory: path.join(folder, 'truncating'),
    isTruncated: true,
    baseModels: ['tiny-random'],
  });
  const started = await startTinkerRuntime({
    serverUrl: truncating.url,
    serverKey: truncating.apiKey,
    model: 'tiny-random',
    tokenizer: path.join(folder, 'model'),
    checkpointDir: path.join(folder, 'other-checkpoints'),
  });
  const connection = await connectRuntime({ address: started.address, apiKey: started.apiKey });
  const created = connection.createModel({ baseModel: 'tiny-random', modelId: 't', seed: 1, lora: { rank: 8 } });
  await expect(created).rejects.toThrow(/log-probabilities that differ from its passes/);
  await connection.close();
  await started.close();
  await truncating.close();
}, 60_000);

test('a stream has the text, the tokens and the usage of the same response', async () => {
  const request = { ...question, ...withTokens, max_tokens: 12, seed: 5 };
  const whole = (await openai.chat.completions.create(request)) as Completion;
  const options = { stream: true as const, stream_options: { include_usage: true } };
  let text = '';
  const tokens: number[] = [];
  let usage: OpenAI.CompletionUsage | null | undefined;
  for await (const chunk of await openai.chat.completions.create({ ...request, ...options })) {
    const [choice] = chunk.choices as (OpenAI.Chat.ChatCompletionChunk.Choice & { token_ids?: number[] })[];
    text += choice?.delta.content ?? '';
    tokens.push(...(choice?.token_ids ?? []));
    usage = chunk.usage ?? usage;
  }
  expect(text).toBe(whole.choices[0]?.message.content);
  expect(tokens).toEqual(whole.choices[0]?.token_ids);
  expect(usage?.completion_tokens).toBe(tokens.length);
}, 60_000);
