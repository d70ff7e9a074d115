import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { emitReward } from '@agentlightning/core';
import { failWith, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { EvaluationEvent } from '../src/index.ts';
import { Trainer } from '../src/index.ts';
import { PlantedModels, plantedKey } from './planted-models.ts';
import { plantedConfig, plantedTasks } from './planted-search.ts';
import { ask, type SmallTask, smallTrainer } from './small-trainer.ts';
import { withStore } from './with-store.ts';

/** Seconds on a free machine; this one may be busy. */
vi.setConfig({ testTimeout: 120_000 });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-eval-'));
  vi.stubEnv('PLANTED_KEY', plantedKey);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** The numbers of a text such as `Number 3?`. */
const numberOf = (body: object): number => Number(/Number (\d+)/.exec(JSON.stringify(body))?.[1]);

/** An endpoint that replies with one letter for each number. */
function letters(): Promise<ScriptedModel> {
  return ScriptedModel.start(({ body }) => respondWith('x'.repeat(numberOf(body))));
}

/** An endpoint that never responds to requests with one number, and forwards the others. */
async function silentAbout(
  number: number,
  model: ScriptedModel,
): Promise<{ readonly baseUrl: string } & AsyncDisposable> {
  const server = createServer(async (request, response) => {
    const body = await text(request);
    if (numberOf({ body }) === number) return;
    const { method = 'GET', url = '' } = request;
    const answer = await fetch(new URL(url, model.baseUrl), method === 'GET' ? { method } : { method, body });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await promisify(server.close.bind(server))();
    },
  };
}

const small = { reward: { range: [0, 10] as const } };

test('a model is equal to itself: the sampling of both depends on task and sample only', async () => {
  const trainer = smallTrainer(folder, small);
  const { of, against, comparison } = await trainer.test({ against: 'base', samples: 2 });
  expect(of).toEqual(against);
  expect(of).toMatchObject({ subject: 'base', rollouts: 8, failed: 0, missing: 0, missingShare: 0, failures: {} });
  expect(comparison).toMatchObject({ difference: 0, verdict: 'not-significant', tasks: 4, gains: [], losses: [] });
  const [low = 0, high = 0] = comparison?.ci95 ?? [];
  expect(low).toBeLessThan(0);
  expect(high).toBeGreaterThan(0);
  const again = await trainer.validate({ samples: 2 });
  expect(again.of).toEqual(of);
});

test('a checkpoint of a run is compared with the base model, and leaves the run as it was', async () => {
  const trainer = smallTrainer(folder, small);
  await trainer.fit({ runId: 'compared' });
  const before = await withStore(folder, (store) => store.getRun('compared'));
  const report = await trainer.test({ of: 'compared@latest', against: 'base' });
  expect([report.of.subject, report.against?.subject]).toEqual(['compared@latest (step 1)', 'base']);
  expect(report.comparison).toMatchObject({ tasks: 4, missingShare: 0 });
  expect((await trainer.test({ of: 'compared@1' })).of.reward).toBe(report.of.reward);
  await expect(trainer.test({ of: 'compared@7' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect((await withStore(folder, (store) => store.getRun('compared'))).state).toEqual(before.state);
});

test('an endpoint is evaluated on other tasks, in a run of the store, and compared task by task', async () => {
  await using model = await letters();
  const endpoint = { baseUrl: model.baseUrl, model: 'letters' };
  const events: EvaluationEvent[] = [];
  const tasks = [1, 4, 1].map((index) => ({ question: `Number ${index}?`, index }));
  const report = await smallTrainer(folder, small).test({
    endpoint,
    tasks,
    against: 'base',
    runId: 'measured',
    onEvent: (event) => events.push(event),
  });
  expect(report.of).toMatchObject({ subject: 'endpoint letters', reward: 2, rollouts: 3 });
  expect(report.of.ci95[0]).toBeGreaterThanOrEqual(1);
  expect(report.of.ci95[1]).toBeLessThanOrEqual(4);
  const base = report.against?.reward ?? 0;
  expect(report.comparison?.difference).toBeCloseTo(2 - base, 9);
  const [loss] = report.comparison?.losses ?? [];
  const task = tasks[loss?.index ?? -1];
  expect(loss).toMatchObject({ task, of: task?.index, difference: (loss?.of ?? 0) - (loss?.against ?? 0) });
  expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['started', 'evaluated', 'finished']));
  await withStore(folder, async (store) => {
    expect(await store.getRun('measured')).toMatchObject({ status: 'finished', state: { kind: 'evaluation' } });
    expect((await store.queryRollouts({ runId: 'measured' })).total).toBe(6);
  });
});

test('an infrastructure failure is not a reward, and too many missing rewards leave the result undecided', async () => {
  await using model = await ScriptedModel.start(({ body }) =>
    numberOf(body) === 2 ? failWith(503, { headers: { 'retry-after': '0' } }) : respondWith('four'),
  );
  const endpoint = { baseUrl: model.baseUrl, model: 'lossy' };
  const warnings: string[] = [];
  const report = await smallTrainer(folder, small).test({
    endpoint,
    onEvent: (event) => void (event.type === 'warning' && warnings.push(event.message)),
  });
  expect(report.of).toMatchObject({ reward: 4, rollouts: 3, missing: 1, missingShare: 0.25, failed: 0 });
  expect(report.of.failures).toEqual({ model_error: 1 });
  expect(report.isDecided).toBe(false);
  expect(warnings.join()).toMatch(/1 of 4 rollouts are excluded because of infrastructure failures/);
});

test('a model that does not respond for most of the timeout is not a failure of the agent', async () => {
  await using model = await letters();
  await using silent = await silentAbout(2, model);
  const endpoint = { baseUrl: silent.baseUrl, model: 'slow' };
  const report = await smallTrainer(folder, {
    ...small,
    limits: { rolloutTimeoutMs: 2000 },
  }).test({ endpoint });
  expect(report.of).toMatchObject({ rollouts: 3, missing: 1, failed: 0, failures: { infrastructure: 1 } });
});

test('parts of rewards have means, and failures of agents a cause', async () => {
  const agent = async (task: SmallTask): Promise<void> => {
    await ask(task);
    if (task.index === 3) throw new Error('no hands');
    if (task.index < 2) emitReward({ correct: task.index, brief: 0.5 }, { primaryKey: 'correct' });
  };
  const report = await smallTrainer(folder, {
    agent,
    evaluation: { maxMissingShare: 0.25 },
  }).test();
  expect(report.of).toMatchObject({ failed: 1, missing: 1, failures: { agent_error: 1, no_reward: 1 } });
  expect(report.of.parts).toMatchObject({ correct: { reward: 0.5, rollouts: 2 }, brief: { reward: 0.5 } });
  expect(report.isDecided).toBe(true);
});

describe('what cannot be evaluated', () => {
  test.each([
    ['an unknown run', { of: 'unknown@best' }, /NOT_FOUND.*unknown/],
    ['another reference', { of: 'best' }, /CONFIG.*"best" is not a model or prompts/],
    ['an endpoint that is not given', { of: 'endpoint' }, /CONFIG.*no endpoint/],
    ['prompts that do not exist', { of: 'missing.json' }, /CONFIG.*missing.json/],
    ['tasks that do not exist', { tasks: '/missing.jsonl' }, /TASK_FILE.*missing.jsonl/],
    ['no tasks', { tasks: [] }, /CONFIG.*no test tasks/],
    ['no samples', { samples: 0 }, /CONFIG.*invalid number of samples: 0/],
  ])('%s is an error, and leaves no run', async (_name, options, message) => {
    await expect(smallTrainer(folder).test(options)).rejects.toThrow(message);
    await withStore(folder, async (store) => expect((await store.queryRuns()).total).toBe(0));
  });

  test('a run without checkpoints, and an evaluation, have none', async () => {
    const trainer = smallTrainer(folder);
    const { runId } = await trainer.test({ runId: 'measured' });
    await expect(trainer.test({ of: `${runId}@best` })).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(/run measured is an evaluation/),
    });
    await trainer.fit({ runId: 'untrained', signal: AbortSignal.abort() }).catch(() => undefined);
    await withStore(folder, (store) => store.createRun({ runId: 'empty', name: 'empty', config: {} }));
    await expect(trainer.test({ of: 'empty@latest' })).rejects.toMatchObject({ code: 'VALIDATION' });
  });

  test('an endpoint that does not respond ends the evaluation with a typed error', async () => {
    const closed = await letters();
    const endpoint = { baseUrl: closed.baseUrl, model: 'gone' };
    await closed.close();
    const failing = smallTrainer(folder, {
      limits: { outageToleranceMs: 200 },
    }).test({ endpoint, runId: 'away' });
    await expect(failing).rejects.toMatchObject({ code: 'UNREACHABLE' });
    await withStore(folder, async (store) => expect(await store.getRun('away')).toMatchObject({ status: 'failed' }));
  });

  test('an evaluation that is stopped has its status', async () => {
    const controller = new AbortController();
    const onEvent = ({ type }: EvaluationEvent): void => {
      if (type === 'started') controller.abort(new DOMException('stopped', 'AbortError'));
    };
    const failing = smallTrainer(folder).test({ runId: 'brief', signal: controller.signal, onEvent });
    await expect(failing).rejects.toMatchObject({ code: 'CANCELLED' });
    await withStore(folder, async (store) => expect(await store.getRun('brief')).toMatchObject({ status: 'stopped' }));
  });
});

test('versions of a prompt search, and prompts of a file, are evaluated', async () => {
  await using models = await PlantedModels.start();
  const trainer = new Trainer({ ...plantedConfig(models.baseUrl), run: { dataDir: folder } });
  await trainer.fit({ runId: 'search' });
  await expect(trainer.test({ of: 'search@best' })).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringMatching(/no test tasks/),
  });
  const tasks = plantedTasks(500, 8);
  const report = await trainer.test({ of: 'search@best', against: 'base', tasks });
  expect(report.comparison?.difference).toBeGreaterThan(0);
  expect(report.of.subject).toMatch(/^search@best \(v\d+\)$/);
  await expect(trainer.test({ of: 'search@v99', tasks })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  const file = path.join(folder, 'perfect.json');
  const template = 'RULE-0; RULE-1; RULE-2; RULE-3;\n{request}';
  writeFileSync(file, JSON.stringify({ prompts: { doing: { template } } }));
  // The noise of the planted models follows from the ids of rollouts.
  const perfect = await trainer.validate({ of: file, runId: 'perfect' });
  expect(perfect.of.reward).toBeGreaterThan(0.7);
});
