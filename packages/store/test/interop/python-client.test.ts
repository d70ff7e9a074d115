import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '@agentlightning/core';
import {
  attemptCodec,
  resourcesSnapshotCodec,
  rolloutCodec,
  spanInputCodec,
  workerCodec,
} from '@agentlightning/core/protocol';
import type { AttemptedRollout } from '@agentlightning/core/store';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createStoreServer, openStore, type SqlStore, type StoreServer } from '../../src/index.ts';
import { describeInterop } from './describe-interop.ts';
import { PythonClient } from './python-peer.ts';

type Fields = Record<string, unknown>;
interface PythonPage {
  readonly items: readonly Fields[];
  readonly types: readonly string[];
  readonly limit: number;
  readonly offset: number;
  readonly total: number;
}

/** A span as the Python package has it, with all that it may have. */
function aPythonSpan({ rolloutId, attempt }: AttemptedRollout, fields: JsonObject = {}): JsonObject {
  const context = { trace_id: 'a'.repeat(32), span_id: 'b'.repeat(16), is_remote: true, trace_state: { vendor: 'x' } };
  return {
    rollout_id: rolloutId,
    attempt_id: attempt.attemptId,
    sequence_id: 7,
    trace_id: context.trace_id,
    span_id: context.span_id,
    parent_id: 'c'.repeat(16),
    name: 'step',
    status: { status_code: 'ERROR', description: 'broke' },
    attributes: { text: 'ä', count: 3, ratio: 0.5, on: true, ids: [1, 2], none: [] },
    events: [{ name: 'moment', attributes: { n: 1 }, timestamp: 1_700_000_000.123456 }],
    links: [{ context: { ...context, is_remote: false, trace_state: {} }, attributes: null }],
    start_time: 1_700_000_000.25,
    end_time: 1_700_000_001.5,
    context,
    parent: { trace_id: context.trace_id, span_id: 'c'.repeat(16), is_remote: false, trace_state: {} },
    resource: { attributes: { 'service.name': 'python' }, schema_url: 'https://example.com/schema' },
    kind: 'SpanKind.CLIENT',
    ...fields,
  };
}

describeInterop('the Python client of Agent Lightning 0.3 against our server', (python) => {
  let store: SqlStore;
  let server: StoreServer;
  let client: PythonClient;

  beforeAll(async () => {
    store = await openStore(':memory:');
    await store.updateResources('rs-tasks', {});
    server = await createStoreServer({ store, port: 0 });
    client = new PythonClient(python, server.url);
  });

  afterAll(async () => {
    await client[Symbol.asyncDispose]();
    await server.close();
    await store.close();
  });

  /** What the Python package sees of a rollout of ours: it knows no runs. */
  async function rolloutSeen(rolloutId: string): Promise<Fields> {
    const { run_id: _, ...seen } = rolloutCodec.encode(await store.getRollout(rolloutId)) as Fields;
    return seen;
  }

  async function withoutAttempt(rolloutId: string): Promise<Fields> {
    const { attempt: _, ...rollout } = await rolloutSeen(rolloutId);
    return rollout;
  }

  async function attemptSeen(rolloutId: string): Promise<Fields | null> {
    const attempt = await store.getLatestAttempt(rolloutId);
    return attemptCodec.nullable().encode(attempt) as Fields | null;
  }

  const request = {
    input: { question: 'ä', nested: [1, null, { a_b: 1.5 }] },
    mode: 'train',
    resources_id: 'rs-tasks',
    config: { timeout_seconds: 1.5, unresponsive_seconds: 60, max_attempts: 3, retry_condition: ['timeout', 'failed'] },
    metadata: { data_id: 'x' },
  };

  describe('rollouts', () => {
    test('start_rollout', async () => {
      const started = await client.call<Fields>('start_rollout', { ...request, worker_id: 'worker-py' });
      expect(started).toMatchObject({
        ...request,
        status: 'preparing',
        attempt: { worker_id: 'worker-py', sequence_id: 1 },
      });
      expect(started).toEqual(await rolloutSeen(String(started.rollout_id)));
    });

    test('start_rollout with the input alone', async () => {
      const started = await client.call<Fields>('start_rollout', { input: 'just text' });
      expect(started).toMatchObject({
        input: 'just text',
        mode: null,
        metadata: null,
        config: { timeout_seconds: null, unresponsive_seconds: null, max_attempts: 1, retry_condition: [] },
      });
    });

    test('enqueue_rollout and enqueue_many_rollouts, and out again with dequeue_rollout and dequeue_many_rollouts', async () => {
      const first = await client.call<Fields>('enqueue_rollout', request);
      expect(first).toMatchObject({ ...request, status: 'queuing', end_time: null });
      expect(first).toEqual(await rolloutSeen(String(first.rollout_id)));
      const many = await client.call<Fields[]>('enqueue_many_rollouts', {
        rollouts: [{ input: 1 }, { ...request, input: 2 }],
      });
      expect(many.map(({ input }) => input)).toEqual([1, 2]);

      const claimed = await client.call<Fields>('dequeue_rollout', { worker_id: 'worker-py' });
      expect(claimed).toMatchObject({ rollout_id: first.rollout_id, status: 'preparing' });
      expect(claimed).toEqual(await rolloutSeen(String(first.rollout_id)));
      const rest = await client.call<Fields[]>('dequeue_many_rollouts', { limit: 5, worker_id: 'worker-py' });
      expect(rest.map(({ rollout_id }) => rollout_id)).toEqual(many.map(({ rollout_id }) => rollout_id));
      expect(await client.call('dequeue_rollout')).toBeNull();
      expect(await client.call('dequeue_many_rollouts', { limit: 0 })).toEqual([]);
    });

    test('get_rollout_by_id, with an attempt, without one, and of none', async () => {
      const { rolloutId } = await store.startRollout({ input: 1 });
      expect(await client.call('get_rollout_by_id', { rollout_id: rolloutId })).toEqual(await rolloutSeen(rolloutId));
      const [queued] = await store.enqueueRollouts([{ input: 2 }]);
      const queuedId = queued?.rolloutId ?? '';
      expect(await client.call('get_rollout_by_id', { rollout_id: queuedId })).toEqual(await rolloutSeen(queuedId));
      expect(await client.call('get_rollout_by_id', { rollout_id: 'ro-unknown' })).toBeNull();
    });

    test('query_rollouts, with every parameter', async () => {
      const rollouts = await store.enqueueRollouts([{ input: 1 }, { input: 2 }, { input: 3 }]);
      const ids = rollouts.map(({ rolloutId }) => rolloutId);
      await store.updateRollout(ids[0] ?? '', { status: 'cancelled' });
      const page = await client.call<PythonPage>('query_rollouts', {
        status_in: ['queuing'],
        rollout_id_in: ids,
        sort_by: 'start_time',
        sort_order: 'desc',
        limit: 1,
        offset: 1,
      });
      expect(page).toMatchObject({ limit: 1, offset: 1, total: 2, types: ['Rollout'] });
      expect(page.items).toEqual([await rolloutSeen(ids[1] ?? '')]);
      const either = { status_in: ['cancelled'], rollout_id_contains: ids[1] ?? '', filter_logic: 'or' };
      const found = await client.call<PythonPage>('query_rollouts', either);
      expect(found.items.map(({ rollout_id }) => rollout_id)).toEqual(expect.arrayContaining([ids[0], ids[1]]));
      expect(await client.call('query_rollouts', { status_in: [] })).toMatchObject({ total: 0 });
      const deprecated = { rollout_ids: ids, status: ['cancelled'] };
      expect(await client.call('query_rollouts', deprecated)).toMatchObject({ total: 1 });
      const { rolloutId } = await store.startRollout({ input: 4 });
      const attempted = await client.call<PythonPage>('query_rollouts', { rollout_id_in: [rolloutId] });
      expect(attempted).toMatchObject({ types: ['AttemptedRollout'], items: [await rolloutSeen(rolloutId)] });
    });

    test('update_rollout, each field and null', async () => {
      const { rolloutId } = await store.startRollout({ input: 1, mode: 'val', metadata: { a: 1 } });
      const patch = { ...request, rollout_id: rolloutId };
      expect(await client.call('update_rollout', patch)).toEqual(await withoutAttempt(rolloutId));
      expect(await rolloutSeen(rolloutId)).toMatchObject(request);
      const nothing = { rollout_id: rolloutId, mode: null, metadata: null, resources_id: null };
      expect(await client.call('update_rollout', nothing)).toMatchObject({
        mode: null,
        metadata: null,
        input: request.input,
      });
      const end = { rollout_id: rolloutId, status: 'succeeded' };
      expect(await client.call('update_rollout', end)).toEqual(await withoutAttempt(rolloutId));
    });

    test('wait_for_rollouts, without waiting and until the end', async () => {
      const done = await store.startRollout({ input: 1 });
      const open = await store.startRollout({ input: 2 });
      await store.updateRollout(done.rolloutId, { status: 'succeeded' });
      const rollout_ids = [done.rolloutId, open.rolloutId, 'ro-unknown'];
      expect(await client.call('wait_for_rollouts', { rollout_ids, timeout: 0 })).toEqual([
        await withoutAttempt(done.rolloutId),
      ]);
      const waiting = client.call<Fields[]>('wait_for_rollouts', {
        rollout_ids: rollout_ids.slice(0, 2),
        timeout: null,
      });
      await store.updateRollout(open.rolloutId, { status: 'cancelled' });
      expect((await waiting).map(({ status }) => status)).toEqual(['succeeded', 'cancelled']);
    });
  });

  describe('attempts', () => {
    test('start_attempt', async () => {
      const { rolloutId } = await store.startRollout({ input: 1 });
      const args = { rollout_id: rolloutId, worker_id: 'worker-py' };
      expect(await client.call('start_attempt', args)).toMatchObject({
        attempt: { sequence_id: 2, worker_id: 'worker-py' },
      });
      expect(await client.call('start_attempt', { rollout_id: rolloutId })).toEqual(await rolloutSeen(rolloutId));
    });

    test('query_attempts and get_latest_attempt', async () => {
      const { rolloutId } = await store.startRollout({ input: 1 });
      await store.startAttempt(rolloutId);
      const args = { rollout_id: rolloutId, sort_by: 'sequence_id', sort_order: 'desc', limit: 1 };
      expect(await client.call('query_attempts', args)).toMatchObject({
        total: 2,
        items: [await attemptSeen(rolloutId)],
      });
      expect(await client.call('query_attempts', { rollout_id: rolloutId })).toMatchObject({ total: 2, limit: -1 });
      expect(await client.call('get_latest_attempt', { rollout_id: rolloutId })).toEqual(await attemptSeen(rolloutId));
      const [queued] = await store.enqueueRollouts([{ input: 2 }]);
      expect(await client.call('get_latest_attempt', { rollout_id: queued?.rolloutId ?? '' })).toBeNull();
    });

    test('update_attempt, by id and as the latest', async () => {
      const { rolloutId, attempt } = await store.startRollout({ input: 1 });
      const fields = { worker_id: 'worker-2', metadata: { note: 'x' } };
      const byId = { rollout_id: rolloutId, attempt_id: attempt.attemptId, ...fields };
      // The time of a heartbeat is that of the store.
      const updated = await client.call('update_attempt', { ...byId, last_heartbeat_time: 1_700_000_000.5 });
      expect(updated).toEqual(await attemptSeen(rolloutId));
      expect(updated).toMatchObject(fields);
      expect(updated).not.toMatchObject({ last_heartbeat_time: 1_700_000_000.5 });
      const latest = { rollout_id: rolloutId, attempt_id: 'latest', status: 'succeeded' };
      expect(await client.call('update_attempt', latest)).toEqual(await attemptSeen(rolloutId));
      expect(await rolloutSeen(rolloutId)).toMatchObject({ status: 'succeeded', end_time: expect.any(Number) });
    });
  });

  describe('spans', () => {
    test('add_span, once, and as null when it comes again', async () => {
      const rollout = await store.startRollout({ input: 1 });
      const span = aPythonSpan(rollout);
      expect(await client.call('add_span', { span })).toEqual(span);
      expect(await client.call('add_span', { span })).toBeNull();
      const { items } = await store.querySpans({ rolloutId: rollout.rolloutId });
      expect(items.map((item) => spanInputCodec.encode(item))).toEqual([span]);
    });

    test('add_many_spans and query_spans, with every parameter', async () => {
      const rollout = await store.startRollout({ input: 1 });
      const spans = [1, 2, 3].map((n) => {
        const span_id = `${n}`.repeat(16);
        return aPythonSpan(rollout, { span_id, sequence_id: n, name: `step-${n}`, context: null, parent: null });
      });
      const added = await client.call<Fields[]>('add_many_spans', { spans: [...spans, spans[0] ?? {}] });
      expect(added).toHaveLength(3);
      const rollout_id = rollout.rolloutId;
      const query = async (args: JsonObject): Promise<unknown[]> =>
        (await client.call<PythonPage>('query_spans', { rollout_id, ...args })).items.map(({ name }) => name);
      expect(await query({})).toEqual(['step-1', 'step-2', 'step-3']);
      expect(await query({ attempt_id: 'latest', sort_by: 'name', sort_order: 'desc', limit: 1 })).toEqual(['step-3']);
      expect(await query({ attempt_id: rollout.attempt.attemptId, offset: 2 })).toEqual(['step-3']);
      expect(await query({ name: 'step-2' })).toEqual(['step-2']);
      expect(await query({ name: 'step-2', span_id_contains: '333', filter_logic: 'or' })).toEqual([
        'step-2',
        'step-3',
      ]);
      const all = {
        trace_id: 'a'.repeat(32),
        parent_id: 'c'.repeat(16),
        name_contains: 'step',
        trace_id_contains: 'aa',
      };
      expect(await query({ ...all, parent_id_contains: 'c', span_id: '1'.repeat(16) })).toEqual(['step-1']);
      expect(await query({ attempt_id: 'at-unknown' })).toEqual([]);
    });

    test('get_next_span_sequence_id and get_many_span_sequence_ids', async () => {
      const one = await store.startRollout({ input: 1 });
      const two = await store.startRollout({ input: 2 });
      const of = (rollout: AttemptedRollout): string[] => [rollout.rolloutId, rollout.attempt.attemptId];
      const args = { rollout_id: one.rolloutId, attempt_id: one.attempt.attemptId };
      expect(await client.call('get_next_span_sequence_id', args)).toBe(1);
      const pairs = { rollout_attempt_ids: [of(one), of(two), of(one)] };
      expect(await client.call('get_many_span_sequence_ids', pairs)).toEqual([2, 1, 3]);
    });

    test('add_otel_span keeps every field of spans that the OpenTelemetry SDK made', async () => {
      const { rolloutId, attempt } = await store.startRollout({ input: 1 });
      const args = { rollout_id: rolloutId, attempt_id: attempt.attemptId };
      const results = await client.call<{ sent: Fields; added: Fields }[]>('add_otel_spans', args);
      expect(results.map(({ sent }) => sent.name)).toEqual(['child', 'root']);
      for (const { sent, added } of results) {
        const { start_time, end_time, events, ...exact } = sent;
        expect(added).toMatchObject(exact);
        expect(Object.keys(added).sort()).toEqual(Object.keys(sent).sort());
        // The store keeps microseconds.
        expect(added.start_time).toBeCloseTo(Number(start_time), 5);
        expect(added.end_time).toBeCloseTo(Number(end_time), 5);
        expect(added.events).toHaveLength((events as unknown[]).length);
      }
      expect((await store.querySpans({ rolloutId })).items.map(({ sequenceId }) => sequenceId)).toEqual([1, 2]);
    });

    test('the exporter of its tracer sends spans by OTLP', async () => {
      const { rolloutId, attempt } = await store.startRollout({ input: 1 });
      const args = { rollout_id: rolloutId, attempt_id: attempt.attemptId };
      const sent = await client.call<Fields[]>('export_by_otlp', args);
      const { items } = await store.querySpans({ rolloutId });
      expect(items.map(({ name, spanId }) => ({ name, span_id: spanId }))).toEqual(sent);
      const root = items.find(({ name }) => name === 'root');
      expect(items.find(({ name }) => name === 'child')).toMatchObject({
        attemptId: attempt.attemptId,
        parentId: root?.spanId,
        status: { code: 'ERROR', message: 'broke' },
        attributes: { text: 'ä', count: 3, ratio: 0.5, on: true, ids: [1, 2], logprobs: [-0.5, 0] },
        events: [{ name: 'moment', attributes: { n: 1 } }],
        links: [{ spanId: root?.spanId, attributes: { why: 'x' } }],
        resource: { attributes: { team: 'python', 'agentlightning.rollout_id': rolloutId } },
      });
    });
  });

  describe('resources', () => {
    const resources = {
      main_llm: {
        resource_type: 'llm',
        endpoint: 'http://x/v1',
        model: 'm',
        api_key: 'k',
        sampling_parameters: { temperature: 0.5 },
      },
      proxy: {
        resource_type: 'proxy_llm',
        endpoint: 'http://y/v1',
        model: 'n',
        api_key: null,
        sampling_parameters: {},
      },
      prompt: { resource_type: 'prompt_template', template: 'Say {x}', engine: 'f-string' },
    };

    test('add_resources, get_resources_by_id and get_latest_resources', async () => {
      const added = await client.call<Fields>('add_resources', { resources });
      const resourcesId = String(added.resources_id);
      expect(added).toMatchObject({ version: 1, resources });
      expect(added).toEqual(resourcesSnapshotCodec.encode(await store.getResources(resourcesId)));
      expect(await client.call('get_resources_by_id', { resources_id: resourcesId })).toEqual(added);
      expect(await client.call('get_latest_resources')).toEqual(added);
      expect(await client.call('get_resources_by_id', { resources_id: 'rs-unknown' })).toBeNull();
    });

    test('update_resources, of one that is there and of a new one', async () => {
      const { resourcesId } = await store.addResources({});
      const updated = await client.call('update_resources', { resources_id: resourcesId, resources });
      expect(updated).toMatchObject({ version: 2, resources });
      expect(await client.call('get_latest_resources')).toEqual(updated);
      const args = { resources_id: 'rs-python', resources };
      expect(await client.call('update_resources', args)).toMatchObject({ resources_id: 'rs-python', version: 1 });
    });

    test('query_resources', async () => {
      const page = await client.call<PythonPage>('query_resources', {
        resources_id_contains: 'rs-py',
        sort_by: 'version',
        sort_order: 'desc',
        limit: 3,
      });
      expect(page).toMatchObject({ total: 1, limit: 3, items: [{ resources_id: 'rs-python', resources }] });
      expect(await client.call('query_resources', { resources_id: 'rs-python' })).toMatchObject({ total: 1 });
    });
  });

  describe('workers', () => {
    test('update_worker, get_worker_by_id and query_workers', async () => {
      const heartbeat_stats = { cpu: 0.5, gpus: [{ name: 'x' }] };
      const updated = await client.call('update_worker', { worker_id: 'worker-stats', heartbeat_stats });
      expect(updated).toMatchObject({ status: 'unknown', heartbeat_stats, last_heartbeat_time: expect.any(Number) });
      const worker = await store.getWorker('worker-stats');
      expect(await client.call('get_worker_by_id', { worker_id: 'worker-stats' })).toEqual(
        worker && workerCodec.encode(worker),
      );
      expect(await client.call('update_worker', { worker_id: 'worker-stats' })).toMatchObject({ heartbeat_stats });
      expect(await client.call('get_worker_by_id', { worker_id: 'unknown' })).toBeNull();
      const query = {
        status_in: ['unknown'],
        worker_id_contains: 'stats',
        sort_by: 'last_heartbeat_time',
        sort_order: 'desc',
      };
      expect(await client.call('query_workers', query)).toMatchObject({
        total: 1,
        items: [{ worker_id: 'worker-stats' }],
      });
    });
  });

  test('statistics', async () => {
    const { totalRollouts, totalSpans } = await store.statistics();
    expect(await client.call('statistics')).toMatchObject({
      name: 'sqlite',
      total_rollouts: totalRollouts,
      total_spans: totalSpans,
      total_attempts: expect.any(Number),
      total_resources: expect.any(Number),
      total_workers: expect.any(Number),
      uptime: expect.any(Number),
    });
  });

  test('a server that fails for a moment is asked for its health and then again', async () => {
    await using fragile = await withOneFailure(server.port);
    await using retrying = new PythonClient(python, fragile.url);
    const before = (await store.statistics()).totalRollouts;
    expect(await retrying.call('enqueue_rollout', { input: 'again' })).toMatchObject({ input: 'again' });
    expect(fragile.requests()).toEqual([
      'POST /v1/agl/queues/rollouts/enqueue',
      'GET /v1/agl/health',
      'POST /v1/agl/queues/rollouts/enqueue',
    ]);
    expect((await store.statistics()).totalRollouts).toBe(before + 1);
  });

  test('unknown resources are accepted on enqueue, start and update', async () => {
    const started = await client.call<Fields>('start_rollout', { input: 1, resources_id: 'rs-none' });
    expect(started).toMatchObject({ resources_id: 'rs-none' });
    expect(await client.call('enqueue_rollout', { input: 1, resources_id: 'rs-none' })).toMatchObject({
      resources_id: 'rs-none',
    });
    const update = { rollout_id: started.rollout_id as string, resources_id: 'rs-later' };
    expect(await client.call('update_rollout', update)).toMatchObject({ resources_id: 'rs-later' });
    await client.call('dequeue_many_rollouts', { limit: 10 });
  });

  test('the next sequence id of an unknown attempt is given, and a finished rollout takes a new attempt', async () => {
    const { rolloutId } = await store.startRollout({ input: 1 });
    const unknown = { rollout_id: rolloutId, attempt_id: 'at-unknown' };
    expect(await client.call('get_next_span_sequence_id', unknown)).toBe(1);
    await store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
    expect(await client.call('start_attempt', { rollout_id: rolloutId })).toMatchObject({
      status: 'preparing',
      end_time: null,
      attempt: { sequence_id: 2, status: 'preparing' },
    });
  });

  test('what it may not do is refused at once, with a status that it does not try again', async () => {
    const { rolloutId } = await store.startRollout({ input: 1 });
    await store.updateRollout(rolloutId, { status: 'cancelled' });
    const late = { rollout_id: rolloutId, status: 'running' };
    expect(await client.statusOf('update_rollout', late)).toBe(409);
    expect(await client.statusOf('update_rollout', { ...late, rollout_id: 'ro-unknown' })).toBe(404);
    expect(await client.statusOf('start_attempt', { rollout_id: 'ro-unknown' })).toBe(404);
    expect(await client.statusOf('query_rollouts', { limit: 0 })).toBe(400);
    expect(await client.statusOf('query_rollouts', { sort_by: 'nonsense' })).toBe(400);
    expect(await client.statusOf('enqueue_many_rollouts', { rollouts: [] }).catch(() => 'no request')).toBe(
      'no request',
    );
  });

  test('every method that it has was called', async () => {
    const methods = await client.call<string[]>('public_methods');
    const calledOtherwise = ['close', 'add_otel_span'];
    expect(methods.filter((method) => !client.called.has(method) && !calledOtherwise.includes(method))).toEqual([]);
    expect(methods.length).toBeGreaterThanOrEqual(28);
  });
});

interface FragileServer extends AsyncDisposable {
  readonly url: string;
  readonly requests: () => readonly string[];
}

/** Forwards requests, but fails the first one. */
async function withOneFailure(port: number): Promise<FragileServer> {
  const requests: string[] = [];
  const proxy: Server = createServer((incoming, outgoing) => {
    requests.push(`${incoming.method} ${incoming.url}`);
    if (requests.length === 1) {
      incoming.resume();
      outgoing.writeHead(503).end();
      return;
    }
    const { url: path, method, headers } = incoming;
    const onward = httpRequest({ port, path, method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 500, response.headers);
      response.pipe(outgoing);
    });
    incoming.pipe(onward);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => proxy.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    requests: () => requests,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        proxy.close(() => resolve());
        proxy.closeAllConnections();
      }),
  };
}
