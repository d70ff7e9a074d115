import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { StoreClient } from '@agentlightning/core/store-client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runAgl } from './agl-command.ts';
import { AglProcess, summaryOf } from './agl-process.ts';
import { RunFolder } from './run-folder.ts';

/** Each test starts a server, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 });

let folder: RunFolder;
beforeEach(() => {
  folder = new RunFolder();
});
afterEach(() => folder[Symbol.dispose]());

/** The requests of a holder of a key. */
class Tenant {
  readonly url: string;
  readonly key: string;

  constructor(url: string, key: string) {
    this.url = url;
    this.key = key;
  }

  async send(method: string, path: string, body?: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** Creates a run, which waits for agents that never come. */
  async createRun(request: object = {}): Promise<{ status: number; body: Record<string, unknown> }> {
    const text = '{"question":"a"}\n';
    const digest = createHash('sha256').update(text).digest('hex');
    await this.send('PUT', `/v1/server/datasets/${digest}?offset=0&total_bytes=${text.length}`, text);
    const training = { algorithm: { type: 'grpo', groupSize: 2 }, steps: 1, tasksPerStep: 1 };
    return this.send('POST', '/v1/server/runs', { data: { train: digest, test: digest }, training, ...request });
  }

  store(): StoreClient {
    return new StoreClient({ baseUrl: this.url, apiKey: this.key });
  }
}

const script = path.resolve(import.meta.dirname, 'fixtures/client-script.ts');

/** Trains in a process of a user, and returns what a run has learned: without times. */
async function train({ url, key }: Tenant): Promise<unknown> {
  const command = [process.execPath, '--conditions=@agentlightning/source', script];
  await using client = new AglProcess([], { command, env: { AGL_URL: url, AGL_KEY: key } });
  expect(await client.event('result')).toMatchObject({ status: 'finished', step: 3 });
  const steps = client.events.filter(({ type }) => type === 'stepped');
  return steps.map(summaryOf).map(({ step, reward, entropy, metrics }) => ({
    step,
    reward,
    entropy,
    metrics: Object.entries(metrics as object).filter(([name]) => !name.startsWith('time/')),
  }));
}

/** Sends requests at the limits until the signal aborts, and returns the statuses of the responses. */
async function attack(tenant: Tenant, signal: AbortSignal): Promise<ReadonlySet<number>> {
  const client = tenant.store();
  const { rolloutId, attempt } = await client.startRollout({ input: 1 });
  const agent = new Tenant(tenant.url, await client.createAttemptToken({ rolloutId, attemptId: attempt.attemptId }));
  await client.close();
  const ids = { rollout_id: rolloutId, attempt_id: attempt.attemptId, trace_id: 'a', name: 'x' };
  const parts = { status: { status_code: 'OK' }, attributes: { text: 'word '.repeat(2000) }, events: [], links: [] };
  let count = 0;
  const span = (): object => ({ ...ids, ...parts, span_id: `s${count++}` });
  const zeros = `{"spans":[${'0,'.repeat(4_000_000)}0]}`;
  const events = JSON.stringify({ spans: [{ ...span(), events: Array(400_000).fill(0) }] });
  const rollouts = JSON.stringify({ rollouts: Array(1000).fill({ input: 'x' }) });
  const statuses = new Set<number>();
  const requests = [
    () => agent.send('POST', '/v1/agl/spans/batch', zeros),
    () => agent.send('POST', '/v1/agl/spans/batch', events),
    () => agent.send('POST', '/v1/agl/spans/batch', { spans: Array.from({ length: 200 }, span) }),
    () => tenant.send('POST', '/v1/agl/queues/rollouts/enqueue', rollouts),
    () => tenant.createRun(),
  ];
  // One at a time: this process and the server share the machine with the run.
  for (let index = 0; !signal.aborted; index += 1) {
    const next = requests[index % requests.length];
    if (next !== undefined) statuses.add((await next()).status);
  }
  return statuses;
}

async function startServer(
  ...flags: readonly string[]
): Promise<{ readonly server: AglProcess; readonly admin: Tenant }> {
  const server = new AglProcess(['server', '--data', folder.path, '--port', '0', '--model', 'tiny-random', ...flags]);
  const ready = await server.event('ready');
  const url = String(ready['url']);
  return { server, admin: new Tenant(url, readFileSync(String(ready['keyFile']), 'utf8').trim()) };
}

async function createTenant(url: string, role: string, project: string): Promise<Tenant> {
  const flags = ['--data', folder.path, '--name', `${role} of ${project}`, '--role', role, '--project', project];
  const { output } = await runAgl(['keys', 'create', '--json', ...flags]);
  return new Tenant(url, (JSON.parse(output) as { readonly key: string }).key);
}

test('clients write no state of the runs that a server trains', async () => {
  const { server, admin } = await startServer();
  await using _server = server;
  const trainer = await createTenant(admin.url, 'trainer', 'red');
  await using store = { client: trainer.store(), [Symbol.asyncDispose]: () => store.client.close() };
  const stolen = { from: { runId: 'run-x', step: 1, uris: { policy: 'blue--run--run-x/step-000001' } } };
  const created = await trainer.createRun({ run_id: 'run-1' });
  expect(created.status).toBe(201);
  await expect(store.client.updateRun('run-1', { state: stolen })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  // A state that was written before the run was one of the server.
  await store.client.createRun({ runId: 'run-2', name: 'planted', config: {} });
  await store.client.updateRun('run-2', { state: stolen });
  expect(await trainer.createRun({ run_id: 'run-2' })).toMatchObject({
    status: 409,
    body: { error: { message: expect.stringContaining('is not a run of this server') } },
  });
  expect(await trainer.send('GET', '/v1/server/runs/run-2')).toMatchObject({ status: 404 });
});

test('a run without a runner does not keep the slot from another project', { tags: ['long'] }, async () => {
  const { server, admin } = await startServer();
  await using _server = server;
  const red = await createTenant(admin.url, 'trainer', 'red');
  const blue = await createTenant(admin.url, 'trainer', 'blue');
  const tooLong = { training: { limits: { runnerTimeoutMs: 3_600_001 } } };
  expect(await red.createRun(tooLong)).toMatchObject({ status: 400, body: { error: { code: 'CONFIG' } } });
  await red.createRun({ run_id: 'run-red', training: { limits: { runnerTimeoutMs: 3_600_000 } } });
  await blue.createRun({ run_id: 'run-blue' });
  const statusOf = async (tenant: Tenant, run: string): Promise<unknown> =>
    (await tenant.send('GET', `/v1/server/runs/${run}`)).body['status'];
  expect(await statusOf(blue, 'run-blue')).toBe('queued');
  await vi.waitFor(async () => expect(await statusOf(blue, 'run-blue')).toBe('running'), { timeout: 120_000 });
  expect(await statusOf(red, 'run-red')).toBe('queued');
});

test('a project that attacks at its limits does not change what another one learns', {
  tags: ['long'],
  timeout: 600_000,
}, async () => {
  const { server, admin } = await startServer('--max-concurrent-runs', '2');
  await using _server = server;
  const red = await createTenant(admin.url, 'trainer', 'red');
  const blue = await createTenant(admin.url, 'trainer', 'blue');
  const undisturbed = await train(blue);
  const ended = new AbortController();
  const attacking = attack(red, ended.signal);
  const disturbed = await train(blue).finally(() => ended.abort());
  expect(disturbed).toEqual(undisturbed);
  // Rejected at a bound, by a quota or a queue; never an internal error.
  const statuses = [...(await attacking)].toSorted();
  expect(statuses).toEqual(expect.arrayContaining([201, 413]));
  expect(statuses.filter((status) => status >= 500)).toEqual([]);
});
