import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { examineTinkerServer } from '../src/index.ts';
import { type FakeTinkerOptions, startFakeTinkerServer, writeTinyModelFolder } from '../src/testing/index.ts';

vi.setConfig({ testTimeout: 120_000 });

test.each<Omit<FakeTinkerOptions, 'directory'>>([
  { dialect: 'sequences', lossScale: 'sum', hasSnapshots: true, drawsFromAll: true, limitsGradient: true },
  {
    dialect: 'binary',
    lossScale: 'sequence_means',
    hasSnapshots: false,
    drawsFromAll: true,
    limitsGradient: false,
    alpha: 32,
  },
  { dialect: 'json', lossScale: 'token_mean', hasSnapshots: false, drawsFromAll: false, limitsGradient: true },
])('a server is measured: %j', async ({ dialect, ...deviations }) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'tinker-'));
  const server = await startFakeTinkerServer({ dialect, directory, ...deviations });
  try {
    await writeTinyModelFolder(path.join(directory, 'model'));
    const place = { serverUrl: server.url, serverKey: server.apiKey, model: 'tiny-chat' };
    const measured = await examineTinkerServer({ ...place, tokenizer: path.join(directory, 'model') });
    expect(measured).toEqual({ alpha: null, ...deviations });
    expect(server.models).toBe(0);
  } finally {
    await server.close();
    await rm(directory, { recursive: true, force: true });
  }
});

test('a model that the server does not train is refused with those that it trains', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'tinker-'));
  const server = await startFakeTinkerServer({ dialect: 'binary', directory, sampledOnly: ['tiny-random'] });
  try {
    const tokenizer = path.join(directory, 'model');
    await writeTinyModelFolder(tokenizer);
    const place = { serverUrl: server.url, serverKey: server.apiKey, tokenizer };
    const sampled = examineTinkerServer({ ...place, model: 'tiny-random' });
    await expect(sampled).rejects.toMatchObject({ code: 'CONFIG', remedy: expect.stringContaining('tiny-chat') });
    await expect(sampled).rejects.toThrow('samples from "tiny-random", but does not train it');
    const unknown = examineTinkerServer({ ...place, model: 'tiny-chatt' });
    await expect(unknown).rejects.toThrow('does not train "tiny-chatt"; did you mean "tiny-chat"?');
  } finally {
    await server.close();
    await rm(directory, { recursive: true, force: true });
  }
});
