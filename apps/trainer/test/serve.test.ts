import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Store } from '@agentlightning/core';
import { readDeployment } from '@agentlightning/core/protocol';
import { readProductionMetadata } from '@agentlightning/core/spans';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runAgl } from './agl-command.ts';
import { AglProcess } from './agl-process.ts';
import { RunFolder } from './run-folder.ts';
import { smallTrainer, trainSmall } from './small-trainer.ts';

/** It starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 180_000 });

let folder: RunFolder;
let url: string;
let store: Store;
beforeEach(async () => {
  folder = new RunFolder();
  url = `sqlite:${path.join(folder.path, 'agl.db')}`;
  store = await openStore(url);
});
afterEach(async () => {
  await store.close();
  folder[Symbol.dispose]();
});

function serve(...args: string[]): AglProcess {
  return new AglProcess(['serve', ...args, '--store', url, '--port', '0', '--data-dir', folder.path]);
}

async function urlOf(process: AglProcess): Promise<string> {
  return String((await process.event('ready'))['url']);
}

async function ask(
  gateway: string,
  user: string,
): Promise<{ readonly id: string; readonly version: string; readonly status: number }> {
  const response = await fetch(`${gateway}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-agl-user': user },
    body: JSON.stringify({ model: 'support-agent', max_tokens: 4, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  await response.arrayBuffer();
  const { headers, status } = response;
  return { id: headers.get('x-rollout-id') ?? '', version: headers.get('x-agl-deployment-version') ?? '', status };
}

const embedded = { type: 'embedded', model: 'tiny-random' } as const;

const users = Array.from({ length: 24 }, (_, index) => `user-${index}`);

async function versionsOf(gateway: string): Promise<readonly string[]> {
  const versions: string[] = [];
  for (const user of users) versions.push((await ask(gateway, user)).version);
  return versions;
}

/** Polls until a value is there. */
async function until<TValue>(read: () => Promise<TValue | null>): Promise<TValue> {
  return await vi.waitFor(
    async () => {
      const value = await read();
      if (value === null) throw new Error('not yet');
      return value;
    },
    { timeout: 90_000, interval: 200 },
  );
}

/** An endpoint whose status tests choose. */
async function startEndpoint(statusOf: () => number) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const message = { role: 'assistant', content: 'Hello' };
      response.writeHead(statusOf(), { 'content-type': 'application/json' });
      const body = { id: 'c', object: 'chat.completion', created: 1, model: 'm' };
      response.end(JSON.stringify({ ...body, choices: [{ index: 0, message, finish_reason: 'stop' }] }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

test('agl serve serves trained weights and a candidate, also after it was killed', { tags: ['long'] }, async () => {
  const { error } = await trainSmall(smallTrainer(folder.path, { runtime: embedded }), { runId: 'trained' });
  expect(error).toBeNull();
  const wrong = await runAgl(['serve', 'support-agent', '--store', url, '--port', '0']);
  expect(wrong).toMatchObject({ code: 2 });
  await using first = serve('trained@final', '--as', 'support-agent');
  const reply = await ask(await urlOf(first), 'ada');
  expect(reply).toMatchObject({ status: 200, version: 'trained@1' });
  const rollout = await until(() => store.getRollout(reply.id).catch(() => null));
  expect(rollout).toMatchObject({ runId: 'support-agent', mode: 'production', status: 'succeeded' });
  await store.recordFeedback({ rolloutId: reply.id, label: 'good', source: 'user' });
  const second = await trainSmall(smallTrainer(folder.path, { runtime: embedded }), { runId: 'retrained' });
  expect(second.error).toBeNull();
  await runAgl(['deploy', 'retrained@final', '--to', 'support-agent', '--share', '50%', '--store', url]);
  const gateway = await urlOf(first);
  await until(async () => ((await versionsOf(gateway)).includes('retrained@1') ? true : null));
  const before = await versionsOf(gateway);
  expect(new Set(before)).toEqual(new Set(['trained@1', 'retrained@1']));
  await first.kill();
  await using restarted = serve('trained@final', '--as', 'support-agent');
  const again = await urlOf(restarted);
  await until(async () => ((await versionsOf(again)).includes('retrained@1') ? true : null));
  expect(await versionsOf(again)).toEqual(before);
  const promoted = await runAgl(['deploy', '--to', 'support-agent', '--promote', '--reason', 'good', '--store', url]);
  expect(promoted.output).toContain('retrained@1 is live in support-agent, instead of trained@1.');
  await until(async () => (new Set(await versionsOf(again)).size === 1 ? true : null));
  expect((await ask(again, 'ada')).version).toBe('retrained@1');
  restarted.terminate();
  expect(await restarted.exitCode()).toBe(0);
});

test('a candidate that fails is rolled back automatically within a minute, by one of two gateways', {
  tags: ['long'],
}, async () => {
  let status = 200;
  using stable = await startEndpoint(() => 200);
  using candidate = await startEndpoint(() => status);
  const endpoint = (model: string, { baseUrl }: { readonly baseUrl: string }) => [
    '--endpoint',
    baseUrl,
    '--model',
    model,
  ];
  const target = ['--to', 'support-agent', '--store', url];
  expect(await runAgl(['deploy', ...endpoint('old', stable), ...target])).toMatchObject({ code: 0 });
  const trial = ['deploy', ...endpoint('new', candidate), '--share', '30%', ...target];
  expect(await runAgl(trial)).toMatchObject({ code: 0 });
  await using one = serve('support-agent');
  await using other = serve('support-agent');
  const [first, second] = [await urlOf(one), await urlOf(other)];
  const versions = await versionsOf(first);
  expect(new Set(versions)).toEqual(new Set(['old', 'new']));
  expect(await versionsOf(second)).toEqual(versions);
  status = 500;
  const failedMs = Date.now();
  const state = await until(async () => {
    const replies = await Promise.all(users.map((user, index) => ask(index % 2 === 0 ? first : second, user)));
    // No user notices.
    expect(replies.every((reply) => reply.status === 200)).toBe(true);
    const known = readDeployment(await store.getRun('support-agent'));
    return known?.candidate === null ? known : null;
  });
  expect(Date.now() - failedMs).toBeLessThan(60_000);
  expect(state.live).toBe('old');
  expect(state.history.filter(({ action }) => action === 'rollback')).toMatchObject([
    { by: 'agl serve', previous: 'new' },
  ]);
  const { items } = await store.queryRollouts({ runId: 'support-agent' });
  const fellBack = items.filter(({ metadata }) => readProductionMetadata(metadata).fallbackFrom === 'new');
  expect(fellBack.length).toBeGreaterThan(10);
  expect(fellBack.every((rollout) => rollout.status === 'succeeded')).toBe(true);
  const listed = await runAgl(['deployments', '--store', url]);
  expect(listed.output).toContain('agl serve');
});

test('the key of an endpoint is sent only where it is allowed', { tags: ['long'] }, async () => {
  using endpoint = await startEndpoint(() => 200);
  const flags = ['--endpoint', endpoint.baseUrl, '--model', 'old', '--key-env', 'SOME_SECRET', '--to', 'support-agent'];
  await runAgl(['deploy', ...flags, '--store', url]);
  await using refused = serve('support-agent');
  expect(await refused.exitCode()).toBe(2);
  expect(refused.stderr).toContain('--key-env SOME_SECRET');
});
