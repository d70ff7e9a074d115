import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { SpanInput } from '@agentlightning/core';
import { AttemptTokens, attemptTokenDigest } from '@agentlightning/core/protocol';
import { newSpanId, newTraceId } from '@agentlightning/core/store';
import { StoreClient } from '@agentlightning/core/store-client';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runAgl } from './agl-command.ts';
import { AglProcess } from './agl-process.ts';

/** Each test starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 });

let folder = '';
let db = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-store-server-'));
  db = `sqlite:${path.join(folder, 'agl.db')}`;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function urlOf(server: AglProcess): Promise<string> {
  return String((await server.event('ready'))['url']);
}

async function aglJson(...args: string[]): Promise<Record<string, string>> {
  const { code, output, stderr } = await runAgl([...args, '--json'], { cwd: folder });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(output);
}

test('a server without a key says that it is for this machine only', async () => {
  await using server = new AglProcess(['store', '--db', db, '--port', '0']);
  await urlOf(server);
  expect(server.stderr).toContain('the store has no key');
  const open = await runAgl(['store', '--db', db, '--port', '0', '--host', '0.0.0.0']);
  expect(open.code).toBe(2);
  expect(open.stderr).toContain('A store without a key may not listen on 0.0.0.0');
});

test('keys are created, listed and revoked, and authorise the expected routes', async () => {
  const made = await aglJson('keys', 'create', '--store', db, '--name', 'runners', '--role', 'worker');
  await using server = new AglProcess(['store', '--db', db, '--port', '0']);
  const url = await urlOf(server);
  expect(server.stderr).not.toContain('the store has no key');
  const runner = new StoreClient({ baseUrl: url, apiKey: made['key'] ?? '', maxRetries: 0 });
  expect(await runner.claimRollouts()).toEqual([]);
  await expect(runner.statistics()).rejects.toThrow('A key with the role worker may not GET /v1/agl/statistics');
  // It signs tokens with the secret beside the database, which a gateway on the file has too.
  await expect(runner.createAttemptToken({ rolloutId: 'ro-1', attemptId: 'at-1' })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  });
  expect(existsSync(path.join(folder, 'attempt-secret'))).toBe(true);
  const list = await runAgl(['keys', 'list', '--store', db]);
  expect(list.output).toMatch(new RegExp(`${made['id']} +runners +worker +default +\\d{4}-.* - +-`));
  expect(list.output).not.toContain(made['key']);
  await aglJson('keys', 'revoke', made['id'] ?? '', '--store', db);
  await vi.waitFor(() => expect(runner.claimRollouts()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' }), {
    timeout: 30_000,
    interval: 500,
  });
  expect(server.stderr).not.toContain(made['key']);
  const remote = await runAgl(['keys', 'list', '--store', url]);
  expect(remote.code).toBe(2);
  expect(remote.stderr).toContain('Run it with direct access to the database');
});

test('tokens of attempts are revoked', async () => {
  const token = await new AttemptTokens({ secrets: ['x'.repeat(32)] }).create({ rolloutId: 'ro-1', attemptId: 'at-1' });
  expect(await runAgl(['store', 'tokens', 'revoke', token, '--store', db])).toMatchObject({ code: 0 });
  const store = await openStore(db);
  expect(await store.revokedAttemptTokens()).toEqual([await attemptTokenDigest(token)]);
  await store.close();
});

test('SIGTERM under load: waits end, requests are completed, no connection is cut, and nothing acknowledged is lost', async () => {
  await using server = new AglProcess(['store', '--db', db, '--port', '0']);
  const url = await urlOf(server);
  const client = new StoreClient({ baseUrl: url, maxRetries: 0 });
  const { rolloutId, attempt } = await client.startRollout({ input: 1 });
  const wait = post(`${url}/v1/agl/queues/rollouts/dequeue`, { wait_seconds: 600 });
  const events = fetch(`${url}/v1/agl/events`).then((response) => response.text());
  const load = new Load(url, { rolloutId, attemptId: attempt.attemptId });
  const loaders = Array.from({ length: 16 }, () => load.run());
  await vi.waitFor(() => expect(load.acknowledged.length).toBeGreaterThan(200), 60_000);
  server.terminate();
  await Promise.all(loaders);
  expect(await wait).toEqual({ status: 200, body: '[]' });
  expect(await events).toContain('event: ');
  expect(await server.exitCode()).toBe(0);
  // New connections after the listener is closed are refused; requests in flight are not.
  expect([...load.failures]).toEqual(['ECONNREFUSED']);
  const store = await openStore(db);
  const { items } = await store.querySpans({ rolloutId });
  const recorded = new Set(items.map(({ spanId }) => spanId));
  expect(load.acknowledged.filter((spanId) => !recorded.has(spanId))).toEqual([]);
  expect(recorded.size).toBe(load.acknowledged.length);
  await store.close();
  await client.close();
});

/** Clients that record spans sequentially, each on a separate connection, until one fails. */
class Load {
  readonly acknowledged: string[] = [];
  readonly failures = new Set<string>();
  readonly #url: string;
  readonly #ids: Pick<SpanInput, 'rolloutId' | 'attemptId'>;

  constructor(url: string, ids: Pick<SpanInput, 'rolloutId' | 'attemptId'>) {
    this.#url = url;
    this.#ids = ids;
  }

  async run(): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      for (;;) {
        const spanId = newSpanId();
        const { status } = await post(`${this.#url}/v1/agl/spans`, this.#span(spanId), agent);
        if (status === 201) this.acknowledged.push(spanId);
        else this.failures.add(`status ${status}`);
      }
    } catch (error) {
      this.failures.add(String((error as NodeJS.ErrnoException).code));
    } finally {
      agent.destroy();
    }
  }

  #span(spanId: string): object {
    return {
      rollout_id: this.#ids.rolloutId,
      attempt_id: this.#ids.attemptId,
      sequence_id: 0,
      trace_id: newTraceId(),
      span_id: spanId,
      parent_id: null,
      name: 'step',
      status: { status_code: 'OK' },
      attributes: { text: 'x'.repeat(1000) },
      events: [],
      links: [],
      start_time: 1,
      end_time: 2,
      resource: { attributes: {}, schema_url: '' },
    };
  }
}

function post(
  url: string,
  body: object,
  agent?: Agent,
): Promise<{ readonly status: number | undefined; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const sent = request(url, { method: 'POST', headers, ...(agent === undefined ? {} : { agent }) });
    sent.once('error', reject).once('response', (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.once('error', reject).once('end', () => resolve({ status: response.statusCode, body: text }));
    });
    sent.end(JSON.stringify(body));
  });
}
