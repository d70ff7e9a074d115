import { readFileSync } from 'node:fs';
import path from 'node:path';
import { AgentLightningClient } from '@agentlightning/client';
import {
  type FakeTinkerServer,
  startFakeTinkerServer,
  writeTinyModelFolder,
} from '@agentlightning/runtime-tinker/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AglProcess } from './agl-process.ts';
import smallConfig, { type SmallTask, smallTasks } from './fixtures/small.config.ts';
import { RunFolder } from './run-folder.ts';

/** Each test starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 });

let folder: RunFolder;
let tinker: FakeTinkerServer;
beforeEach(async () => {
  folder = new RunFolder();
  await writeTinyModelFolder(path.join(folder.path, 'model'));
  const directory = path.join(folder.path, 'weights');
  tinker = await startFakeTinkerServer({ dialect: 'binary', directory, baseModels: ['tiny-random'] });
});
afterEach(async () => {
  await tinker.close();
  folder[Symbol.dispose]();
});

function startServer(flags: readonly string[], key = tinker.apiKey): AglProcess {
  const args = ['server', '--data', path.join(folder.path, 'data'), '--port', '0', '--runtime', tinker.url];
  const tokenizer = ['--runtime-arguments', `--tokenizer ${path.join(folder.path, 'model')}`];
  return new AglProcess([...args, ...tokenizer, ...flags], { env: { TINKER_API_KEY: key } });
}

async function clientOf(server: AglProcess): Promise<AgentLightningClient> {
  const ready = await server.event('ready');
  const apiKey = readFileSync(String(ready['keyFile']), 'utf8').trim();
  return new AgentLightningClient({ url: String(ready['url']), apiKey });
}

test('agl server trains on a Tinker server, pauses a run at its budget, and serves the trained model', async () => {
  await using server = startServer(['--model', 'tiny-random', '--lora-rank', '4']);
  const client = await clientOf(server);
  const { train, test: held } = smallTasks;
  await client.uploadData({ train: [...train], test: [...held] });
  const run = await client.train<SmallTask>(smallConfig.agent, {
    algorithm: { type: 'grpo', groupSize: 2, learningRate: 1e-3 },
    steps: 2,
    tasksPerStep: 2,
    concurrency: 8,
    training: { evaluation: { tasks: 4 }, limits: { budget: { tokens: 1 } } },
  });
  const paused = await run.result().catch((error: unknown) => error);
  expect(paused).toMatchObject({ code: 'BUDGET_REACHED', message: expect.stringContaining('limits.budget.tokens') });
  expect(paused).toMatchObject({ remedy: expect.stringContaining('run.resume({ budget') });
  expect((await run.info()).status).toBe('stopped');

  await run.resume({ budget: { tokens: 1e9 } });
  const { endpoint, step } = await run.result();
  expect(step).toBe(2);
  expect(tinker.applied.get('optim_step')).toBeGreaterThanOrEqual(2);
  const response = await fetch(`${endpoint.baseURL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${endpoint.apiKey}` },
    body: JSON.stringify({ model: endpoint.model, messages: [{ role: 'user', content: 'How many?' }], max_tokens: 4 }),
  });
  expect(await response.json()).toMatchObject({ choices: [{ message: { role: 'assistant' } }] });
});

test('agl server over a Tinker server reports a missing model and a wrong key', async () => {
  await using nameless = startServer([]);
  expect(await nameless.exitCode()).toBe(2);
  expect(nameless.stderr).toContain('needs a model, and none is set');
  await using keyless = startServer(['--model', 'tiny-random'], 'tml-wrong');
  expect(await keyless.exitCode()).not.toBe(0);
  expect(keyless.stderr).toContain('invalid API key');
});
