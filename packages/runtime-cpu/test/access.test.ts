import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connectRuntime } from '@agentlightning/runtime';
import { randomApiKey, writeKeyFile } from '@agentlightning/runtime/internal/serving';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CpuRuntime, startCpuRuntime } from '../src/service/start-cpu-runtime.ts';

let folder: string;
let server: CpuRuntime;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'runtime-access-'));
  server = await startCpuRuntime({ checkpointDir: folder });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

/** `fetch` sets `Host` itself and accepts no other. */
function statusOf(route: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(new URL(route, server.inferenceUrl), { headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    }).on('error', reject);
  });
}

describe('the model API', () => {
  test.each([
    ['/v1/models', { host: 'rebound.example' }, 403],
    ['/v1/models', { origin: 'https://attacker.example' }, 403],
    ['/v1/models', { origin: 'null' }, 403],
    ['/health', { origin: 'https://attacker.example' }, 403],
    ['/v1/models', { origin: 'http://localhost:5173' }, 200],
    ['/v1/models', { host: 'localhost' }, 200],
  ])('responds to %s with the key and the headers %j with %i', async (route, headers, status) => {
    expect(await statusOf(route, { authorization: `Bearer ${server.apiKey}`, ...headers })).toBe(status);
  });

  test.each([
    ['/v1/models', {}, 401],
    ['/v1/models', { authorization: 'Bearer guess' }, 401],
    ['/v1/models', { authorization: 'Bearer ' }, 401],
    ['/v1/chat/completions', {}, 401],
    ['/health', {}, 200],
  ])('responds to %s with %j instead of the key with %i', async (route, headers, status) => {
    expect(await statusOf(route, headers)).toBe(status);
  });
});

test.each([{}, { apiKey: 'guess' }])('gRPC rejects a client with %j', async (key) => {
  await expect(connectRuntime({ address: server.address, ...key })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
});

test('each runtime has a separate random key, unless one is set', async () => {
  const other = await startCpuRuntime({ checkpointDir: folder });
  await other.close();
  expect(other.apiKey).toMatch(/^[\w-]{43}$/);
  expect(other.apiKey).not.toBe(server.apiKey);
  await expect(startCpuRuntime({ checkpointDir: folder, apiKey: '' })).rejects.toMatchObject({ code: 'CONFIG' });
});

test('a key file is readable only by its owner, also after replacing a wider one', async () => {
  const file = path.join(folder, 'keys', 'runtime.key');
  await writeKeyFile(file, randomApiKey());
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const wide = path.join(folder, 'wide.key');
  await writeFile(wide, 'old', { mode: 0o644 });
  await writeKeyFile(wide, randomApiKey());
  expect((await stat(wide)).mode & 0o777).toBe(0o600);
});
