import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describeRuntimeConformance } from '@agentlightning/runtime/testing';
import { afterAll, beforeAll, vi } from 'vitest';
import { type FakeTinkerServer, startFakeTinkerServer, writeTinyModelFolder } from '../src/testing/index.ts';
import { startProcess } from './tinker-runtime-process.ts';

/** Tests start processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let folder = '';
let server: FakeTinkerServer;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tinker-'));
  await writeTinyModelFolder(path.join(folder, 'model'));
  const directory = path.join(folder, 'weights');
  server = await startFakeTinkerServer({ dialect: 'binary', directory, baseModels: ['tiny-random'] });
});

afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

describeRuntimeConformance({
  name: 'the runtime over a Tinker server',
  testTimeoutMs: 120_000,
  start: async ({ directory, apiKey, resultTtlMs, sessionTtlMs, abandonedModelTtlMs }) => {
    const keyFile = path.join(directory, 'key');
    await writeFile(keyFile, apiKey);
    const flags = ['--dir', directory, '--key-file', keyFile, '--model', 'tiny-random'];
    flags.push('--tokenizer', path.join(folder, 'model'));
    if (sessionTtlMs !== undefined) flags.push('--session-ttl-ms', String(sessionTtlMs));
    if (abandonedModelTtlMs !== undefined) flags.push('--abandoned-model-ttl-ms', String(abandonedModelTtlMs));
    if (resultTtlMs !== undefined) flags.push('--result-ttl-ms', String(resultTtlMs));
    const { address, end } = await startProcess(server, flags);
    return { address, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') };
  },
});
