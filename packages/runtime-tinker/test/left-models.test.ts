import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connectRuntime } from '@agentlightning/runtime';
import { expect, test } from 'vitest';
import { startFakeTinkerServer, writeTinyModelFolder } from '../src/testing/index.ts';
import { startProcess } from './tinker-runtime-process.ts';

test('the models of a killed process are unloaded by the next one', { timeout: 120_000 }, async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tinker-left-'));
  const tokenizer = path.join(folder, 'model');
  await writeTinyModelFolder(tokenizer);
  const directory = path.join(folder, 'weights');
  const server = await startFakeTinkerServer({ dialect: 'binary', directory, baseModels: ['tiny-random'] });
  const keyFile = path.join(folder, 'key');
  await writeFile(keyFile, 'key-of-the-test');
  const flags = [
    '--key-file',
    keyFile,
    '--dir',
    path.join(folder, 'checkpoints'),
    '--model',
    'tiny-random',
    '--tokenizer',
    tokenizer,
  ];
  try {
    // Left by a process that was killed while it wrote.
    const live = path.join(folder, 'checkpoints', '.live-models');
    await mkdir(live, { recursive: true });
    await writeFile(path.join(live, 'a.json.partial'), '{"serverUrl":');
    const killed = await startProcess(server, flags);
    const runtime = await connectRuntime({ address: killed.address, apiKey: 'key-of-the-test' });
    await runtime.createModel({ baseModel: 'tiny-random', modelId: 'm', seed: 1, lora: { rank: 4 } });
    await killed.end('SIGKILL');
    await runtime.close();
    expect(server.models).toBe(1);
    const next = await startProcess(server, flags);
    expect(server.models).toBe(0);
    await next.end('SIGTERM');
  } finally {
    await server.close();
    await rm(folder, { recursive: true, force: true });
  }
});
