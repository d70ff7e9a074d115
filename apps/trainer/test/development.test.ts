import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { env } from '@agentlightning/core/settings';
import { failWith, ScriptedModel } from '@agentlightning/core/testing';
import { traceFetch } from '@agentlightning/fetch';
import type { Agent } from '@agentlightning/runner';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ask, type SmallTask, smallTrainer } from './small-trainer.ts';

/** Seconds on a free machine; this one may be busy. */
vi.setConfig({ testTimeout: 120_000 });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-dev-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The problems of a rollout of this agent. */
async function problemsOf(agent: Agent<SmallTask>): Promise<string> {
  const { rollouts } = await smallTrainer(folder, { agent }).dev({ tasks: 1, script: ['yes'] });
  return rollouts.flatMap(({ problems }) => problems).join('\n');
}

test('three rollouts with the configured model have traces and rewards', async () => {
  const { rollouts, problems } = await smallTrainer(folder).dev();
  expect(problems).toEqual([]);
  expect(rollouts.map((each) => each.problems)).toEqual([[], [], []]);
  for (const { reward, spans } of rollouts) {
    expect(reward).toEqual(expect.any(Number));
    expect(spans.length).toBeGreaterThan(1);
  }
});

test.each<readonly [string, Agent<SmallTask>, RegExp]>([
  [
    'throws',
    async (task) => {
      await ask(task);
      throw new Error('no hands');
    },
    /the rollout failed: .*no hands/,
  ],
  ['has no reward', async (task) => void (await ask(task)), /no reward: return a number/],
  ['calls no model', async () => 1, /no model call was recorded/],
])('an agent that %s is explained', async (_name, agent, problem) => {
  expect(await problemsOf(agent)).toMatch(problem);
});

/** Chat Completions of an engine that returns no token ids. */
async function endpointWithoutTokens(): Promise<{ readonly baseUrl: string; close(): void }> {
  const message = { role: 'assistant', content: '42' };
  const completion = { id: 'c', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] };
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(request.url?.endsWith('/models') ? { data: [{ id: 'tiny' }] } : completion));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}/v1`, close: () => server.close() };
}

test('every reason that keeps a step from training is listed: token ids, the selection, and altered sampling', async () => {
  const server = await endpointWithoutTokens();
  const endpoint = { baseUrl: server.baseUrl, model: 'tiny' };
  const { problems } = await smallTrainer(folder).dev({ tasks: 1, endpoint });
  server.close();
  expect(problems.join()).toMatch(/1 response cannot be trained on: the upstream gave no prompt token ids; train with/);

  const selective = { type: 'grpo', groupSize: 2, onlyCalls: () => false } as const;
  const excluded = await smallTrainer(folder, { algorithm: selective }).dev({ tasks: 1 });
  expect(excluded.problems.join()).toMatch(/the selection of the algorithm .* excludes every model call/);

  const altered = await smallTrainer(folder, { sampling: { topP: 0.5 } }).dev({ tasks: 1 });
  expect(altered.problems.join()).toMatch(/requests have `top_p` \(1 model call\)/);
});

/** Asks the policy, and a judge through the same client. */
const judged: Agent<SmallTask> = async (task) => {
  await ask(task);
  const answer = await ask(task, 'gpt-4.1-judge');
  return answer.length;
};

test('a judge through the instrumented client is reported with both names, and rejected with `modelNames`', async () => {
  const { problems } = await smallTrainer(folder, { agent: judged }).dev({ tasks: 1 });
  expect(problems.join()).toMatch(/several model names, "any" and "gpt-4.1-judge"/);
  const named = await smallTrainer(folder, { agent: judged, agents: { modelNames: ['any'] } }).dev({ tasks: 1 });
  expect(named.problems.join()).toMatch(/"gpt-4.1-judge" is not a policy of this run/);
  const both = await smallTrainer(folder, { agent: judged, agents: { modelNames: ['any', 'gpt-4.1-judge'] } }).dev({
    tasks: 1,
  });
  expect(both.problems).toEqual([]);
});

test('a script is followed in order, and calls beyond it are reported', async () => {
  const { rollouts, problems } = await smallTrainer(folder).dev({ script: ['a', 'bb'] });
  expect(rollouts.map(({ reward }) => reward)).toEqual([1, 2, null]);
  expect(problems.join()).toMatch(/call 3 is not in the script/);
  const unused = await smallTrainer(folder).dev({ tasks: 1, script: ['a', 'b'] });
  expect(unused.problems.join()).toMatch(/1 step of the script not used/);
});

test('a script needs no token ids, since a training has another endpoint', async () => {
  const { problems } = await smallTrainer(folder).dev({ tasks: 2, script: ['a', 'bb'] });
  expect(problems).toEqual([]);
});

test('a tool call of a script that `max_tokens` cuts is reported', async () => {
  const toolCalls = [{ name: 'count_stock', arguments: { part: 'B7' } }];
  const { problems } = await smallTrainer(folder).dev({ tasks: 1, script: [{ toolCalls }] });
  expect(problems.join()).toMatch(
    /tool call of call 1 \(count_stock\) is longer than the token limit of the request, 4,/,
  );
});

test.each([
  ['chat/completions', 429, { error: { message: 'slow down', type: 'requests', code: 'rate_limit_exceeded' } }],
  ['chat/completions', 500, { error: { message: 'slow down', type: 'server_error' } }],
  ['chat/completions', 401, { error: { message: 'slow down', code: 'invalid_api_key' } }],
  ['messages', 529, { type: 'error', error: { type: 'overloaded_error', message: 'slow down' } }],
] as const)('an error of a script reaches the agent as from a provider: %s, %i', async (path, status, body) => {
  const seen: unknown[] = [];
  const traced = traceFetch();
  const agent: Agent<SmallTask> = async ({ question }) => {
    const request = { model: 'any', max_tokens: 9, messages: [{ role: 'user', content: question }] };
    for (const _ of [1, 2]) {
      const url = `https://api.openai.com/v1/${path}`;
      const response = await traced(url, { method: 'POST', body: JSON.stringify(request) });
      seen.push([response.status, response.headers.get('retry-after'), await response.json()]);
    }
    return 1;
  };
  const failure = { status, message: 'slow down', headers: { 'retry-after': '7' } };
  const { problems } = await smallTrainer(folder, { agent }).dev({ tasks: 1, script: [failure, 'yes'] });
  expect(seen).toEqual([
    [status, '7', expect.objectContaining({ ...body, error: expect.objectContaining(body.error) })],
    [200, null, expect.anything()],
  ]);
  expect(problems).toEqual([]);
});

test.each([401, 403])(
  'a key that the endpoint rejects with %i ends dev and eval at once, with its variable',
  async (status) => {
    let calls = 0;
    await using model = await ScriptedModel.start(() => {
      calls += 1;
      return failWith(status, { message: 'Incorrect API key provided: sk-wrong-key' });
    });
    vi.stubEnv('WRONG_KEY', 'sk-wrong-key');
    const endpoint = { baseUrl: model.baseUrl, model: 'tiny', apiKey: env('WRONG_KEY') };
    const trainer = smallTrainer(folder);
    for (const start of [() => trainer.dev({ endpoint }), () => trainer.test({ endpoint })]) {
      const error: unknown = await start().catch((cause: unknown) => cause);
      expect(error).toMatchObject({ code: 'UNAUTHENTICATED' });
      expect(String(error)).toContain(
        `the model endpoint ${model.baseUrl} rejects the key in the environment variable WRONG_KEY`,
      );
      expect(String(error)).toMatch(/--key-env.* with HTTP 40[13]/);
      expect(String(error)).not.toContain('sk-wrong-key');
    }
    vi.unstubAllEnvs();
    expect(calls).toBeLessThan(30);
  },
);

test('the failure of the agent comes before the unused script', async () => {
  const agent: Agent<SmallTask> = () => Promise.reject(new TypeError('graph is not a function'));
  const { problems } = await smallTrainer(folder, { agent }).dev({ tasks: 1, script: ['a'] });
  expect(problems[0]).toMatch(/the rollout failed: .*graph is not a function/);
  expect(problems.at(-1)).toMatch(/1 step of the script not used/);
});

test('names of agents that are never called are reported with those seen', async () => {
  const algorithm = { type: 'grpo', groupSize: 2, agents: ['writer'] } as const;
  const { problems } = await smallTrainer(folder, { algorithm }).dev({ script: ['a'], tasks: 1 });
  expect(problems.join()).toMatch(/the selector "writer" matches no agent; agents seen:/);
});
