import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TrainingSummary } from '@agentlightning/core/protocol';
import { openStore } from '@agentlightning/store';
import { afterAll, expect, test } from 'vitest';
import { type StoredTrainConfig, Trainer, type TrainingEvent } from '../src/index.ts';
import { FineTuningServer } from './fine-tuning-server.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'agl-fine-tuning-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const user = (index: number) => ({ role: 'user', content: `Number ${index}?` });
const says = (content: string) => ({ role: 'assistant', content });

function fileOf(name: string, count: number, lineOf: (index: number) => object): string {
  const file = path.join(folder, name);
  writeFileSync(file, Array.from({ length: count }, (_, index) => `${JSON.stringify(lineOf(index))}\n`).join(''));
  return file;
}

const chat = fileOf('chat.jsonl', 12, (index) => ({ messages: [user(index), says('yes')] }));

async function serve(): Promise<{ readonly server: FineTuningServer; readonly baseUrl: string }> {
  const server = new FineTuningServer();
  return { server, baseUrl: await server.start() };
}

function configOf(baseUrl: string, changes: Partial<StoredTrainConfig> = {}): StoredTrainConfig {
  return {
    data: chat,
    algorithm: 'sft',
    runtime: { type: 'openai-fine-tuning', baseUrl, model: 'gpt-4.1-mini-2025-04-14', apiKey: 'vendor-key', epochs: 2 },
    ...changes,
    run: { dataDir: folder },
  };
}

async function trainAtVendor(
  config: StoredTrainConfig,
  options: {
    readonly resume?: string;
    readonly onEvent?: (event: TrainingEvent) => void;
    readonly signal?: AbortSignal;
  } = {},
): Promise<{ readonly summary: TrainingSummary; readonly events: readonly TrainingEvent[] }> {
  const events: TrainingEvent[] = [];
  const summary = await new Trainer(config).fit({
    ...options,
    onEvent: (event) => {
      events.push(event);
      options.onEvent?.(event);
    },
  });
  return { summary, events };
}

async function readRun(runId: string) {
  const store = await openStore(`sqlite:${path.join(folder, 'agl.db')}`);
  try {
    return { run: await store.getRun(runId), metrics: (await store.queryMetrics(runId)).items };
  } finally {
    await store.close();
  }
}

test('a file is uploaded, a job followed, and its model recorded; a key is not', async () => {
  const { server, baseUrl } = await serve();
  await using _server = server;
  const { summary, events } = await trainAtVendor(configOf(baseUrl));
  expect(server.files.map(({ content }) => content.trim().split('\n').length)).toEqual([12]);
  expect(server.jobs.map(({ method }) => method)).toEqual([
    { type: 'supervised', supervised: { hyperparameters: { n_epochs: 2 } } },
  ]);
  const model = 'ft:gpt-4.1-mini-2025-04-14:acme::ftjob-1';
  const lines = events.flatMap((event) =>
    event.type === 'fine-tuning' && event.jobId !== null ? [event.message] : [],
  );
  expect(lines).toEqual(['Step 1: training loss=2.00', 'Step 2: training loss=1.00', `the model is ${model}`]);
  const { run, metrics } = await readRun(summary.runId);
  expect(run.status).toBe('finished');
  expect(run.state['vendor']).toMatchObject({ jobId: 'ftjob-1', model });
  expect(metrics.map(({ step, values }) => [step, values['policy/loss']])).toEqual([
    [1, 2],
    [2, 1],
  ]);
  expect(JSON.stringify(run)).not.toContain('vendor-key');
  expect(summary.verdict).toBe('undecided');
});

test('pairs of both formats become a dpo job', async () => {
  const { server, baseUrl } = await serve();
  await using _server = server;
  const data = fileOf('pairs.jsonl', 10, (index) =>
    index % 2 === 0
      ? { input: { messages: [user(index)] }, preferred_output: [says('yes')], non_preferred_output: [says('no')] }
      : { prompt: [user(index)], chosen: [says('yes')], rejected: [says('no')] },
  );
  await trainAtVendor(configOf(baseUrl, { data, algorithm: { type: 'dpo', beta: 0.2 } }));
  expect(server.jobs.map(({ method }) => method)).toEqual([
    { type: 'dpo', dpo: { hyperparameters: { n_epochs: 2, beta: 0.2 } } },
  ]);
});

test.each([
  ['POST /files', 'drop-before'],
  ['POST /files', 'drop-after'],
  ['POST /files', 'unavailable'],
  ['POST /fine_tuning/jobs', 'drop-before'],
  ['POST /fine_tuning/jobs', 'drop-after'],
  ['GET /fine_tuning/jobs/ftjob-1', 'drop-after'],
  ['GET /fine_tuning/jobs/ftjob-1/events', 'unavailable'],
] as const)('nothing is uploaded or started twice after %s: %s', async (request, fault) => {
  const { server, baseUrl } = await serve();
  await using _server = server;
  server.faults.set(request, [fault]);
  await trainAtVendor(configOf(baseUrl));
  expect(server.files).toHaveLength(1);
  expect(server.jobs).toHaveLength(1);
});

test('a run that was stopped resumes its job', async () => {
  const { server, baseUrl } = await serve();
  await using _server = server;
  server.pollsToEnd = 1000;
  const stop = new AbortController();
  let runId = '';
  const first = new Trainer(configOf(baseUrl)).fit({
    runId: 'stopped-run',
    signal: stop.signal,
    onEvent: (event) => {
      if (event.type === 'fine-tuning' && event.jobId !== null) stop.abort();
    },
  });
  await expect(first).rejects.toMatchObject({ code: 'CANCELLED' });
  runId = 'stopped-run';
  server.pollsToEnd = 3;
  const { events } = await trainAtVendor(configOf(baseUrl), { resume: runId });
  expect(server.files).toHaveLength(1);
  expect(server.jobs).toHaveLength(1);
  expect(events.some((event) => event.type === 'fine-tuning' && event.message.startsWith('uploading'))).toBe(false);
  expect((await readRun(runId)).run.state['vendor']).toMatchObject({ model: expect.stringContaining('ft:') });
});

test('a process that was killed before it recorded its job finds it', async () => {
  const { server, baseUrl } = await serve();
  await using _server = server;
  const { summary } = await trainAtVendor(configOf(baseUrl));
  const store = await openStore(`sqlite:${path.join(folder, 'agl.db')}`);
  const { state } = await store.getRun(summary.runId);
  const { vendor: _vendor, before: _before, after: _after, ...rest } = state;
  const killed = { ...rest, before: null, after: null, finishedStep: 0 };
  await store.updateRun(summary.runId, { status: 'running', state: killed });
  await store.close();
  await trainAtVendor(configOf(baseUrl), { resume: summary.runId });
  expect(server.files).toHaveLength(1);
  expect(server.jobs).toHaveLength(1);
});

test.each([
  ['failed', 'UPSTREAM_FAILED', /ftjob-1 failed at the vendor: The job failed/],
  ['cancelled', 'CANCELLED', /ftjob-1 was cancelled at the vendor/],
] as const)('a job that is %s ends the run', async (ending, code, message) => {
  const { server, baseUrl } = await serve();
  await using _server = server;
  server.ending = ending;
  const error: unknown = await trainAtVendor(configOf(baseUrl)).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
});

test('what the vendor refuses is an error with its reason; too few examples are not uploaded', async () => {
  const { server, baseUrl } = await serve();
  await using _server = server;
  const runtime = { type: 'openai-fine-tuning', baseUrl, model: 'gpt-unknown', apiKey: 'vendor-key' } as const;
  await expect(trainAtVendor(configOf(baseUrl, { runtime }))).rejects.toThrow(
    /gpt-unknown is not available for fine-tuning/,
  );
  const wrongKey = { ...runtime, apiKey: 'other-key' };
  await expect(trainAtVendor(configOf(baseUrl, { runtime: wrongKey }))).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
  });
  const few = fileOf('few.jsonl', 9, (index) => ({ messages: [user(index), says('yes')] }));
  server.files.length = 0;
  await expect(trainAtVendor(configOf(baseUrl, { data: few }))).rejects.toThrow(
    /9 examples for sft, and fine-tuning needs at least 10/,
  );
  expect(server.files).toEqual([]);
});

test('a vendor trains stored data by sft and dpo only', () => {
  const config = configOf('http://127.0.0.1:1/v1');
  expect(() => new Trainer({ ...config, algorithm: 'kto' })).toThrow(/has no algorithm kto/);
  const { data: _data, ...others } = config;
  const collecting = { ...others, agent: () => 1, tasks: { train: [{}], test: [{}] } };
  expect(() => new Trainer(collecting)).toThrow(/has no rollouts of an agent/);
});
