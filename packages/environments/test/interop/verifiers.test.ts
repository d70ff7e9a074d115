// @module-tag long
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { withRollout } from '@agentlightning/core';
import { aRolloutContext, callTool, failWith, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pythonSuites } from '../../../../tools/describe-with-python.ts';
import { interopEnvironments } from '../../../../tools/python-environment.ts';
import { type VerifiersOptions, verifiersEnvironment } from '../../src/index.ts';

const describeWithVerifiers = await pythonSuites(interopEnvironments['verifiers 0.4.0']);

type Steps = Parameters<typeof ScriptedModel.start>[0];

const add = callTool('calculator_add', { a: 1, b: 1 });

describeWithVerifiers('tasksets of verifiers', (python) => {
  let home = '';
  beforeAll(async () => {
    // The library keeps files of its rollouts there.
    home = await mkdtemp(path.join(tmpdir(), 'agl-verifiers-'));
    process.env['HOME'] = home;
    process.env['PYTHONPATH'] = path.join(import.meta.dirname, 'tasksets');
  });
  afterAll(() => rm(home, { recursive: true, force: true }));

  function environmentOf(options: Partial<VerifiersOptions> = {}) {
    const environment = verifiersEnvironment({ id: 'sums', python, ...options });
    return {
      play: async (index: number, steps: Steps, signal = new AbortController().signal) => {
        await using model = await ScriptedModel.start(steps);
        const endpoint = { baseUrl: model.baseUrl, model: 'trained', apiKey: 'key' };
        const context = aRolloutContext({ endpoint, signal });
        const result = await withRollout(context, () => environment.agent({ index })).catch((error) => error);
        return { result, requests: model.requests };
      },
      [Symbol.asyncDispose]: () => environment.close(),
    };
  }

  test('the model plays with the tools of the taskset, and the taskset rewards it', async () => {
    await using sums = environmentOf();
    const { result, requests } = await sums.play(1, [add, respondWith('2')]);
    expect(result).toBe(1);
    expect(requests[0]?.body).toMatchObject({
      model: 'trained',
      messages: [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: '1 + 1?' },
      ],
      tools: [{ function: { name: 'calculator_add', parameters: { required: ['a', 'b'] } } }],
    });
    expect(requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: '2' });
    const [right, wrong] = await Promise.all([sums.play(2, [respondWith('3')]), sums.play(3, [respondWith('3')])]);
    expect([right.result, wrong.result]).toEqual([1, 0]);
  });

  test('the limit of turns ends a rollout with the reward that it has', async () => {
    await using sums = environmentOf({ maxTurns: 1 });
    expect((await sums.play(1, [add])).result).toBe(0);
  });

  test('mistakes of the model are results of its calls', async () => {
    await using sums = environmentOf();
    const mistakes = [callTool('fly', {}), callTool('calculator_add', '{"a":'), callTool('calculator_add', { a: 1 })];
    const { result, requests } = await sums.play(1, [...mistakes, respondWith('2')]);
    expect(result).toBe(1);
    expect(requests.slice(1).map(({ messages }) => messages.at(-1)?.['content'])).toEqual([
      'There is no tool fly.',
      expect.stringContaining('The arguments are not valid JSON'),
      expect.stringContaining('Field required'),
    ]);
  });

  test('failures of the model, of a reward, of the process and of the taskset are not rewards', async () => {
    await using sums = environmentOf();
    const away = await sums.play(1, [failWith(503)]);
    expect(away.result).toMatchObject({ code: 'AGENT_FAILED', status: 503 });
    const failed = await sums.play(1, [respondWith('divide')]);
    expect(String(failed.result)).toMatch(
      /\[ENVIRONMENT_FAILED\] Task 1 of taskset "sums" failed: TaskError.*division by zero/,
    );
    expect(String((await sums.play(5, [])).result)).toMatch(/\[CONFIG\].*the taskset has 5 tasks/);
    const before = await sums.play(-1, []);
    expect(String(before.result)).toMatch(/\[CONFIG\] Task -1 .*the first task of a taskset has index 0/);
    const ended = await sums.play(1, [respondWith('exit')]);
    expect(String(ended.result)).toMatch(/\[ENVIRONMENT_FAILED\].*its Python process: it exited with code 1/);
    expect((await sums.play(1, [respondWith('2')])).result).toBe(1);
  });

  test('a taskset that fails while it loads a task is a failure of the environment, for all later rollouts', async () => {
    await using broken = environmentOf({ id: 'broken' });
    const results = [await broken.play(1, []), await broken.play(2, [])].map(({ result }) => String(result));
    expect(results).toEqual([
      expect.stringContaining(`[ENVIRONMENT_FAILED] Task 1 of taskset "broken" failed: KeyError: 'answer'`),
      expect.stringContaining(`[ENVIRONMENT_FAILED] Task 2 of taskset "broken" failed: KeyError: 'answer'`),
    ]);
    expect((await broken.play(0, [respondWith('1')])).result).toBe(1);
  });

  test('a task that needs a container is refused', async () => {
    await using sums = environmentOf({ args: { image: 'python:3.12' } });
    expect(String((await sums.play(1, [])).result)).toMatch(
      /\[CONFIG\].*it needs a container, and this environment starts none/,
    );
  });

  test.each([
    [{ id: 'absent' }, /taskset 'absent' not found/],
    [{ args: { size: 3 } }, /Extra inputs are not permitted/],
  ])('the taskset %o cannot be loaded', async (options, message) => {
    await using sums = environmentOf(options);
    const { result } = await sums.play(1, []);
    expect(result).toMatchObject({ code: 'CONFIG', message: expect.stringMatching(message) });
  });

  test('puzzles of reasoning-gym are scored by it', async () => {
    await using puzzles = environmentOf({ id: 'reasoning', args: { dataset: 'chain_sum', seed: 7 } });
    const first = await puzzles.play(0, [respondWith('?')]);
    const question = String(first.requests[0]?.messages.at(-1)?.['content']);
    const terms = /: (.*) =$/.exec(question)?.[1] ?? '';
    const sum = [...terms.matchAll(/([-+]?) ?(\d+)/g)].reduce(
      (total, [, sign, digits]) => total + Number(`${sign}${digits}`),
      0,
    );
    expect(first.result).toBeLessThan(1);
    expect((await puzzles.play(0, [respondWith(String(sum))])).result).toBe(1);
  });
});
