import { AgentLightningError, type Clock, type Span } from '@agentlightning/core';
import { modelCallAttributes } from '@agentlightning/core/internal';
import { env } from '@agentlightning/core/settings';
import {
  aSpan,
  failWith,
  respondWith,
  ScriptedModel,
  type ScriptedRequest,
  type ScriptedResponse,
} from '@agentlightning/core/testing';
import { MockLanguageModelV3 } from 'ai/test';
import { expect, test } from 'vitest';
import { createJudge, type JudgeSettings } from './judge.ts';
import { pairwise } from './pairwise.ts';
import { rubric } from './rubric.ts';
import { ruler } from './ruler.ts';

const task = { question: 'Capital of France?' };
const criteria = { right: 'It is right.', short: { description: 'It is short.', weight: 3 } };
const good = JSON.stringify({
  criteria: [
    { name: 'right', reason: 'It is Paris.', score: 1 },
    { name: 'short', reason: 'Two lines.', score: 0.5 },
  ],
});

/** A clock whose delays end at once. */
function recordingClock(): { readonly clock: Clock; readonly delays: number[] } {
  const delays: number[] = [];
  return { clock: { now: () => 0, sleep: async (ms) => void delays.push(ms) }, delays };
}

async function codeOf(verdict: Promise<unknown>): Promise<string> {
  const error: unknown = await verdict.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return AgentLightningError.isInstance(error) ? error.code : String(error);
}

/** What the judge was given, beside the system prompt. */
function material(request: ScriptedRequest): Readonly<Record<string, unknown>> {
  return JSON.parse(String(request.messages[1]?.['content'])) as Readonly<Record<string, unknown>>;
}

/** The span of a model call with a shared prompt. */
function callSpan(answer: string): Span {
  const messages = [
    { role: 'system', content: 'You know capitals.' },
    { role: 'user', content: task.question },
  ];
  return aSpan({
    attributes: {
      [modelCallAttributes.isTrainable]: true,
      [modelCallAttributes.requestBody]: JSON.stringify({ messages }),
      [modelCallAttributes.responseBody]: JSON.stringify({
        choices: [{ message: { role: 'assistant', content: answer } }],
      }),
    },
  });
}

function settings(model: ScriptedModel, more: Partial<JudgeSettings> = {}): JudgeSettings {
  return { baseUrl: model.baseUrl, model: 'judge', ...more } as JudgeSettings;
}

test('rubric is the weighted mean of criteria, with their reasons and the version of the prompt', async () => {
  await using model = await ScriptedModel.start([respondWith(good)]);
  const part = rubric({
    judge: settings(model, { apiKey: 'secret' }),
    criteria,
    reference: () => 'Paris',
    weight: 0.5,
  });
  const verdict = await part.score({ task, output: 'Paris.' });
  expect(verdict.score).toBeCloseTo((1 + 3 * 0.5) / 4);
  expect(verdict.reason).toBe('right 1: It is Paris.; short 0.5: Two lines. (rubric-1, judge)');
  const [request] = model.requests;
  expect(request?.headers['authorization']).toBe('Bearer secret');
  expect(request && material(request)).toEqual({
    task,
    reference: 'Paris',
    criteria: [
      { name: 'right', description: 'It is right.' },
      { name: 'short', description: 'It is short.' },
    ],
    output: 'Paris.',
  });
});

test('an invalid verdict is an error, and is not cached', async () => {
  const scores = (...list: readonly unknown[]): ScriptedResponse => respondWith(JSON.stringify({ criteria: list }));
  const right = { name: 'right', reason: '', score: 1 };
  const short = { name: 'short', reason: '', score: 1 };
  const invalid = [
    respondWith('Very good!'),
    respondWith('{}'),
    scores(right),
    scores(right, right),
    scores(right, { ...short, score: 2 }),
    scores(right, { ...short, score: '1' }),
    scores(right, short, { name: 'other', score: 1 }),
  ];
  await using model = await ScriptedModel.start([...invalid, respondWith(`\`\`\`json\n${good}\n\`\`\``)]);
  const part = rubric({ judge: settings(model), criteria });
  for (const _ of invalid) expect(await codeOf(part.score({ task, output: 'Paris' }))).toBe('INVALID_REWARD');
  expect(await part.score({ task, output: 'Paris' })).toMatchObject({ score: 0.625 });
});

test('calls are repeated with backoff after 429 and 5xx, and cached by content', async () => {
  await using model = await ScriptedModel.start([
    failWith(503),
    failWith(429, { headers: { 'retry-after': '7' } }),
    respondWith(good),
    respondWith(good),
  ]);
  const { clock, delays } = recordingClock();
  const judge = createJudge(settings(model), { clock });
  const part = rubric({ judge, criteria });
  await Promise.all([part.score({ task, output: 'a' }), part.score({ task, output: 'a' })]);
  await part.score({ task, output: 'a' });
  await part.score({ task, output: 'b' });
  expect(delays).toEqual([500, 7000]);
  expect(judge.usage).toMatchObject({ calls: 4, cached: 2 });
});

test('a judge that fails is a named error', async () => {
  await using model = await ScriptedModel.start([failWith(401), failWith(500), failWith(500), failWith(400)]);
  const judge = createJudge(settings(model, { retries: 1 }), recordingClock());
  const part = rubric({ judge, criteria });
  expect(await codeOf(part.score({ task, output: 'a' }))).toBe('UNAUTHENTICATED');
  expect(await codeOf(part.score({ task, output: 'a' }))).toBe('UPSTREAM_FAILED');
  expect(await codeOf(part.score({ task, output: 'a' }))).toBe('UPSTREAM_FAILED');
  const closed = createJudge({ baseUrl: 'http://127.0.0.1:9/v1', model: 'judge', retries: 0 });
  expect(await codeOf(rubric({ judge: closed, criteria }).score({ task, output: 'a' }))).toBe('UPSTREAM_FAILED');
});

test('a call has a time limit', async () => {
  const never = new Promise(() => undefined);
  await using model = await ScriptedModel.start(() => respondWith(good, { until: never }));
  const part = rubric({ judge: settings(model, { timeoutMs: 50, retries: 0 }), criteria });
  expect(await codeOf(part.score({ task, output: 'a' }))).toBe('TIMEOUT');
});

test('a former option of the key is an error, and not a judge without a key', () => {
  const former = { baseUrl: 'http://127.0.0.1:9/v1', model: 'judge', apiKeyEnv: 'JUDGE_KEY' };
  expect(() => createJudge(former)).toThrow('no option "apiKeyEnv": it is now `apiKey: env(');
});

test('a judge without its key, with an invalid address or limit, is a configuration error', async () => {
  const endpoint = { baseUrl: 'http://127.0.0.1:9/v1', model: 'judge' };
  const keyless = createJudge({ ...endpoint, apiKey: env('JUDGE_KEY') }, { environment: {} });
  const verdict = rubric({ judge: keyless, criteria }).score({ task, output: 'a' });
  await expect(verdict).rejects.toMatchObject({ code: 'CONFIG', message: expect.stringContaining('JUDGE_KEY') });
  expect(() => createJudge({ ...endpoint, baseUrl: 'judge' })).toThrow(/baseUrl/);
  expect(() => createJudge({ ...endpoint, maxCost: 1 })).toThrow(/maxCost/);
  expect(() => createJudge({ ...endpoint, concurrency: 0 })).toThrow(/concurrency/);
  expect(() => rubric({ judge: endpoint, criteria: {} })).toThrow(/criteria/);
});

test('budgets of calls and money end the calls', async () => {
  await using model = await ScriptedModel.start(() => respondWith(good));
  const price = { input: 1e6, output: 1e6 };
  for (const limit of [{ maxCalls: 1 }, { maxCost: 0.5, price }]) {
    const judge = createJudge(settings(model, limit));
    const part = rubric({ judge, criteria });
    await part.score({ task, output: 'a' });
    expect(await codeOf(part.score({ task, output: 'b' }))).toBe('RESOURCE_EXHAUSTED');
    // A cached verdict costs nothing.
    expect(await part.score({ task, output: 'a' })).toMatchObject({ score: 0.625 });
  }
});

test('calls at the same time are limited', async () => {
  let running = 0;
  let most = 0;
  const first = Promise.withResolvers<void>();
  await using model = await ScriptedModel.start(() => {
    running += 1;
    most = Math.max(most, running);
    // Two calls run: both continue.
    if (running === 2) first.resolve();
    const until = first.promise.then(() => {
      running -= 1;
    });
    return respondWith(good, { until });
  });
  const part = rubric({ judge: settings(model, { concurrency: 2, cache: false }), criteria });
  await Promise.all(Array.from({ length: 6 }, () => part.score({ task, output: 'a' })));
  expect(most).toBe(2);
});

test('a model of the AI SDK judges', async () => {
  const model = new MockLanguageModelV3({
    modelId: 'mock',
    doGenerate: async () => ({
      content: [{ type: 'text', text: good }],
      finishReason: { unified: 'stop', raw: undefined },
      usage: {
        inputTokens: { total: 10, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: 5, text: undefined, reasoning: undefined },
      },
      warnings: [],
    }),
  });
  const judge = createJudge({ model, price: { input: 1, output: 2 } });
  expect(await rubric({ judge, criteria }).score({ task, output: 'a' })).toMatchObject({ score: 0.625 });
  expect(judge.usage).toMatchObject({ inputTokens: 10, outputTokens: 5, cost: 20 / 1e6 });
});

/** A judge that prefers the longer output. */
function longerWins(request: ScriptedRequest): ScriptedResponse {
  const { A, B } = material(request)['outputs'] as { readonly A: string; readonly B: string };
  const winner = A.length === B.length ? 'tie' : A.length > B.length ? 'A' : 'B';
  return respondWith(JSON.stringify({ reason: 'longer', winner }));
}

test('pairwise compares with a reference in both orders', async () => {
  await using model = await ScriptedModel.start(longerWins);
  const part = pairwise({ judge: settings(model), reference: () => 'abc' });
  const scores = await Promise.all(['abcd', 'ab', 'xyz', 'abc'].map(async (output) => part.score({ task, output })));
  expect(scores.map(({ score }) => score)).toEqual([1, 0, 0.5, 0.5]);
  expect(scores[0]?.reason).toBe('longer (pairwise-1, judge)');
  // Equal outputs need no call.
  expect(model.requests).toHaveLength(6);
});

test('pairwise counts a verdict that depends on the order as a tie', async () => {
  await using model = await ScriptedModel.start(() => respondWith('{"reason": "first", "winner": "A"}'));
  const part = pairwise({ judge: settings(model), reference: () => 'abc' });
  expect(await part.score({ task, output: 'abcd' })).toMatchObject({ score: 0.5 });
});

test('pairwise compares siblings', async () => {
  await using model = await ScriptedModel.start(longerWins);
  const part = pairwise({ judge: settings(model) });
  const siblings = ['a', 'ab', 'abc'].map((output) => ({ task, output }));
  expect((await part.scoreGroup(siblings)).map(({ score }) => score)).toEqual([0, 0.5, 1]);
  expect(await part.scoreGroup(siblings.slice(0, 1))).toMatchObject([{ score: null }]);
});

test('ruler ranks a group by one call, with the shared messages once', async () => {
  const scores = [1, 2, 3].map((id) => ({ id: String(id), explanation: `no. ${id}`, score: id / 4 }));
  await using model = await ScriptedModel.start([respondWith(JSON.stringify({ scores }))]);
  const part = ruler({ judge: settings(model), instructions: 'A quiz.' });
  const siblings = ['Lyon', 'Paris', 'Rome'].map((output) => ({ task, output, spans: async () => [callSpan(output)] }));
  expect(await part.scoreGroup(siblings)).toEqual([
    { score: 0.25, reason: 'no. 1 (ruler-1, judge)' },
    { score: 0.5, reason: 'no. 2 (ruler-1, judge)' },
    { score: 0.75, reason: 'no. 3 (ruler-1, judge)' },
  ]);
  const [request] = model.requests;
  expect(request?.messages[0]?.['content']).toContain('A quiz.');
  const sent = String(request?.messages[1]?.['content']);
  expect(sent.split('You know capitals.')).toHaveLength(2);
  expect(request && material(request)['trajectories']).toMatchObject([
    { id: '1', output: 'Lyon' },
    { id: '2' },
    { id: '3' },
  ]);
});

test('ruler needs a score of every trajectory', async () => {
  const scores = [{ id: '1', explanation: '', score: 1 }];
  await using model = await ScriptedModel.start([respondWith(JSON.stringify({ scores }))]);
  const siblings = ['a', 'b'].map((output) => ({ task, output }));
  expect(await codeOf(ruler({ judge: settings(model) }).scoreGroup(siblings))).toBe('INVALID_REWARD');
});

test('a fresh score is not read from the cache; the part has the prompt and the usage of its judge', async () => {
  await using model = await ScriptedModel.start([respondWith(good), respondWith(good)]);
  const part = rubric({ judge: settings(model), criteria, instructions: 'The agent knows capitals.' });
  await part.score({ task, output: 'Paris.' });
  await part.score({ task, output: 'Paris.' });
  expect(part.meter?.usage.calls).toBe(1);
  await part.score({ task, output: 'Paris.', isFresh: true });
  expect(part.meter?.usage.calls).toBe(2);
  expect(part.prompt).toMatch(/^You grade the output .*The agent knows capitals\.$/s);
});
