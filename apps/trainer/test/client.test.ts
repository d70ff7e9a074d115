import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { AgentLightningClient } from '@agentlightning/client';
import OpenAI from 'openai';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AglProcess } from './agl-process.ts';
import smallConfig, { smallTasks } from './fixtures/small.config.ts';
import { RunFolder } from './run-folder.ts';

/** Each test starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 300_000 });

const script = path.resolve(import.meta.dirname, 'fixtures/client-script.ts');

let folder: RunFolder;
beforeEach(() => {
  folder = new RunFolder();
});
afterEach(() => {
  folder[Symbol.dispose]();
  vi.unstubAllEnvs();
});

interface ServerAddress {
  readonly process: AglProcess;
  readonly url: string;
  readonly apiKey: string;
}

async function startServer(port = '0'): Promise<ServerAddress> {
  const server = new AglProcess(['server', '--data', folder.path, '--port', port, '--model', 'tiny-random']);
  const ready = await server.event('ready');
  return { process: server, url: String(ready['url']), apiKey: readFileSync(String(ready['keyFile']), 'utf8') };
}

/** The program of a user in its own process. */
function startClient({ url, apiKey }: ServerAddress, env: Readonly<Record<string, string>> = {}): AglProcess {
  const command = [process.execPath, '--conditions=@agentlightning/source', script];
  return new AglProcess([], { command, env: { AGL_URL: url, AGL_KEY: apiKey.trim(), ...env } });
}

test('a client trains an agent, another client joins, and the endpoint serves the trained model', async () => {
  const server = await startServer();
  await using _server = server.process;
  await using first = startClient(server, { STEPS: '8' });
  const run = String((await first.event('run'))['run']);
  await using second = startClient(server, { RUN: run });
  await first.event('runners', ({ runners }) => runners === 2);
  const result = await first.event('result');
  expect(result).toMatchObject({ status: 'finished', step: 8, steps: 8, bestCheckpoint: { step: 8 } });
  expect(Number(result['rewardAfter'])).toBeGreaterThan(Number(result['rewardBefore']));
  expect(await second.event('result')).toMatchObject({ runId: run, rewardAfter: result['rewardAfter'] });
  const client = new AgentLightningClient(server);
  expect(await client.runs()).toMatchObject([{ runId: run, status: 'finished' }]);
  expect(await client.run(run).rollouts({ limit: 3 })).toHaveLength(3);
  const { model, ...endpoint } = await client.run(run).endpoint();
  const messages = [{ role: 'user' as const, content: 'How many?' }];
  const completion = await new OpenAI(endpoint).chat.completions.create({ model, messages, max_tokens: 6 });
  expect(completion.choices[0]?.message.content).toEqual(expect.any(String));
});

test('a run continues after its client and its server were killed', { tags: ['long'] }, async () => {
  const server = await startServer();
  const killed = startClient(server);
  const run = String((await killed.event('run'))['run']);
  await killed.event('stepped');
  await killed.kill();
  await using client = startClient(server, { RUN: run });
  await client.event('run');
  await server.process.kill();
  await using _server = (await startServer(new URL(server.url).port)).process;
  expect(await client.event('result')).toMatchObject({ runId: run, status: 'finished', step: 3 });
});

test('a client stops its run, resumes it and extends it', { tags: ['long'] }, async () => {
  const server = await startServer();
  await using _server = server.process;
  const client = new AgentLightningClient(server);
  const { train, test: held } = smallTasks;
  await client.uploadData({ train: [...train], test: [...held] });
  const algorithm = { type: 'grpo', groupSize: 2 };
  const run = await client.train(smallConfig.agent, { algorithm, steps: 40, tasksPerStep: 3 });
  for await (const { type } of run.events()) if (type === 'stepped') break;
  await run.stop();
  await expect(run.result()).rejects.toMatchObject({ code: 'CANCELLED' });
  const { step, status } = await run.info();
  expect(status).toBe('stopped');
  await run.resume({ steps: step + 1 });
  expect(await run.result()).toMatchObject({ status: 'finished', step: step + 1, verdict: expect.any(String) });
  await expect(run.resume()).rejects.toMatchObject({ code: 'CONFLICT' });
  await run.resume({ steps: step + 2 });
  const { rewardCurve } = await run.result();
  expect(rewardCurve).toHaveLength(step + 2);
  const steps: unknown[] = [];
  for await (const event of run.events()) if (event.type === 'stepped') steps.push(event.summary.step);
  expect(steps).toEqual(rewardCurve.map((_, index) => index + 1));
});

test('invalid tasks, settings and keys are reported, and nothing is uploaded', async () => {
  const server = await startServer();
  await using _server = server.process;
  const client = new AgentLightningClient(server);
  const { train, test: held } = smallTasks;
  await expect(client.train(smallConfig.agent)).rejects.toThrow('the run has no data');
  const invalid = path.join(folder.path, 'tasks.jsonl');
  writeFileSync(invalid, '{"question":"a"}\n{"question"\n');
  await expect(client.uploadData({ train: [...train], test: invalid })).rejects.toThrow(`${invalid}:2: `);
  expect(existsSync(path.join(folder.path, 'datasets'))).toBe(false);
  await client.uploadData({ train: [...train], test: [...held] });
  await expect(client.train(smallConfig.agent, { training: { stepz: 3 } })).rejects.toThrow('did you mean "steps"');
  await expect(client.join('run-unknown', smallConfig.agent)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  const stranger = new AgentLightningClient({ ...server, apiKey: 'wrong' });
  await expect(stranger.runs()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  expect(await client.runs()).toEqual([]);
});
