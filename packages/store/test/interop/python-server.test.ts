import { StoreClient } from '@agentlightning/core/store-client';
import { aSpan } from '@agentlightning/core/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createStoreServer, openStore, type SqlStore, type StoreServer } from '../../src/index.ts';
import { describeInterop } from './describe-interop.ts';
import { type PythonServer, startPythonServer } from './python-peer.ts';

describeInterop('our client against the Python server of Agent Lightning 0.3', (python) => {
  let server: PythonServer;
  let store: StoreClient;

  beforeAll(async () => {
    server = await startPythonServer(python);
    store = new StoreClient({ baseUrl: server.url });
  });

  afterAll(async () => {
    await store.close();
    await server[Symbol.asyncDispose]();
  });

  const request = {
    input: { question: 'ä', nested: [1, null] },
    mode: 'train',
    config: { timeoutMs: 60_000, unresponsiveMs: 30_500, maxAttempts: 3, retryCondition: ['timeout'] },
    metadata: { data_id: 'x' },
  } as const;

  async function claimNew(): Promise<{ readonly rolloutId: string; readonly attemptId: string }> {
    const { rolloutId, attempt } = await store.startRollout(request);
    return { rolloutId, attemptId: attempt.attemptId };
  }

  describe('rollouts', () => {
    test('go through the queue', async () => {
      const [rollout, second] = await store.enqueueRollouts([request, { input: 2 }]);
      expect(rollout).toMatchObject({ ...request, status: 'queuing', resourcesId: null, endTimeMs: null });
      expect(rollout?.startTimeMs).toBeCloseTo(Date.now(), -4);
      const claimed = await store.claimRollouts({ limit: 2, workerId: 'worker-ts' });
      expect(claimed).toMatchObject([
        {
          ...request,
          rolloutId: rollout?.rolloutId,
          status: 'preparing',
          attempt: { sequenceId: 1, workerId: 'worker-ts' },
        },
        { input: 2, rolloutId: second?.rolloutId, config: { timeoutMs: null, maxAttempts: 1, retryCondition: [] } },
      ]);
      expect(await store.claimRollouts({ waitMs: 100 })).toEqual([]);
    });

    test('are started, read and changed', async () => {
      const started = await store.startRollout({ ...request, workerId: 'worker-ts' });
      const { rolloutId } = started;
      expect(started).toMatchObject({ ...request, attempt: { workerId: 'worker-ts', status: 'preparing' } });
      expect(await store.getRollout(rolloutId)).toEqual(started);
      const changed = await store.updateRollout(rolloutId, {
        mode: null,
        metadata: { b: 2 },
        input: 3,
        config: { ...request.config, maxAttempts: 5 },
      });
      expect(changed).toMatchObject({ mode: null, metadata: { b: 2 }, input: 3, config: { maxAttempts: 5 } });
      expect((await store.startAttempt(rolloutId, 'worker-2')).attempt).toMatchObject({
        sequenceId: 2,
        workerId: 'worker-2',
      });
      expect(await store.updateRollout(rolloutId, { status: 'cancelled' })).toMatchObject({
        endTimeMs: expect.any(Number),
      });
    });

    test('are listed', async () => {
      const { rolloutId } = await claimNew();
      const page = await store.queryRollouts({
        rolloutIdIn: [rolloutId],
        statusIn: ['preparing'],
        sortBy: 'startTimeMs',
        limit: 5,
      });
      expect(page).toMatchObject({ total: 1, limit: 5, offset: 0, items: [{ rolloutId, attempt: { sequenceId: 1 } }] });
      expect(await store.queryRollouts({ rolloutIdContains: rolloutId.slice(3) })).toMatchObject({ total: 1 });
      expect(await store.queryRollouts({ statusIn: [] })).toMatchObject({ total: 0 });
    });

    test('are waited for', async () => {
      const first = await claimNew();
      const second = await claimNew();
      const ids = [first.rolloutId, second.rolloutId];
      const waiting = store.waitForRollouts(ids, { timeoutMs: 20_000 });
      await store.updateAttempt(first.rolloutId, 'latest', { status: 'succeeded' });
      await store.updateRollout(second.rolloutId, { status: 'cancelled' });
      expect((await waiting).map(({ status }) => status).sort()).toEqual(['cancelled', 'succeeded']);
      const open = await claimNew();
      expect(await store.waitForRollouts([open.rolloutId], { timeoutMs: 0 })).toEqual([]);
    });
  });

  test('attempts are changed and listed', async () => {
    const { rolloutId, attemptId } = await claimNew();
    const patch = { workerId: 'worker-3', lastHeartbeatTimeMs: 1_700_000_000_500, metadata: { note: 'x' } };
    expect(await store.updateAttempt(rolloutId, attemptId, patch)).toMatchObject(patch);
    const ended = await store.updateAttempt(rolloutId, 'latest', { status: 'failed' });
    expect(ended).toMatchObject({ attemptId, status: 'failed', endTimeMs: expect.any(Number) });
    expect(await store.getLatestAttempt(rolloutId)).toEqual(ended);
    expect(await store.queryAttempts(rolloutId, { sortBy: 'startTimeMs', sortOrder: 'desc' })).toMatchObject({
      total: 1,
      items: [ended],
    });
  });

  describe('spans', () => {
    test('are recorded with every field, and once', async () => {
      const { rolloutId, attemptId } = await claimNew();
      const spans = [1, 2].map((n) =>
        aSpan({
          rolloutId,
          attemptId,
          spanId: `${n}`.repeat(16),
          sequenceId: n,
          name: `step-${n}`,
          attributes: { text: 'ä', count: 3, ratio: 0.5, on: true, ids: [1, 2], logprobs: [-0.5, 0] },
          events: [{ name: 'moment', timeMs: 1_700_000_000_123.5, attributes: { n: 1 } }],
          links: [{ traceId: 'd'.repeat(32), spanId: 'e'.repeat(16), attributes: { why: 'x' } }],
          extra: { kind: 'SpanKind.CLIENT' },
        }),
      );
      expect(await store.appendSpans(spans)).toEqual(spans);
      expect(await store.appendSpans(spans.slice(0, 1))).toEqual([null]);
      expect((await store.querySpans({ rolloutId })).items).toEqual(spans);
      expect((await store.querySpans({ rolloutId, attemptId: 'latest', nameContains: '-2' })).items).toEqual(
        spans.slice(1),
      );
      expect((await store.getRollout(rolloutId)).status).toBe('running');
    });

    test('are numbered by the store where they have no number', async () => {
      const one = await claimNew();
      const two = await claimNew();
      expect(await store.nextSpanSequenceIds([one, two, one])).toEqual([1, 1, 2]);
      const { sequenceId: _, ...span } = aSpan(one);
      expect(await store.appendSpans([span])).toMatchObject([{ sequenceId: 3 }]);
    });
  });

  test('resources are added, versioned, read and listed', async () => {
    const resources = {
      main: {
        resourceType: 'llm',
        endpoint: 'http://x/v1',
        model: 'm',
        apiKey: null,
        samplingParameters: { temperature: 0.5 },
      },
      prompt: { resourceType: 'prompt_template', template: 'Say {x}', engine: 'f-string' },
    } as const;
    const added = await store.addResources(resources);
    expect(added).toMatchObject({ version: 1, resources });
    expect(await store.getLatestResources()).toEqual(added);
    const updated = await store.updateResources(added.resourcesId, { prompt: resources.prompt });
    expect(updated).toMatchObject({
      version: 2,
      createTimeMs: added.createTimeMs,
      resources: { prompt: resources.prompt },
    });
    expect(await store.getResources(added.resourcesId)).toEqual(updated);
    expect(await store.queryResources({ resourcesId: added.resourcesId, sortBy: 'version' })).toMatchObject({
      total: 1,
    });
    await expect(store.getResources('rs-unknown')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      details: { id: 'rs-unknown' },
    });
  });

  test('workers beat, and are read and listed', async () => {
    const stats = { cpu: 0.5 };
    const worker = await store.updateWorker('worker-beat', stats);
    expect(worker).toMatchObject({ status: 'unknown', heartbeatStats: stats, lastHeartbeatTimeMs: expect.any(Number) });
    expect(await store.getWorker('worker-beat')).toEqual(worker);
    expect(await store.getWorker('unknown')).toBeNull();
    expect(await store.queryWorkers({ workerIdContains: 'beat', statusIn: ['unknown'] })).toMatchObject({ total: 1 });
  });

  test('statistics are counted', async () => {
    const { totalRollouts } = await store.statistics();
    await store.enqueueRollouts([{ input: 1 }]);
    expect(await store.statistics()).toMatchObject({ name: 'http', totalRollouts: totalRollouts + 1 });
  });

  describe('what fails', () => {
    test('for unknown ids is reported immediately with its code', async () => {
      const unknown = { code: 'NOT_FOUND', details: { kind: 'Rollout', id: 'ro-unknown' } };
      await expect(store.getRollout('ro-unknown')).rejects.toMatchObject(unknown);
      await expect(store.updateRollout('ro-unknown', { mode: 'val' })).rejects.toMatchObject(unknown);
      await expect(store.appendSpans([aSpan({ rolloutId: 'ro-unknown' })])).rejects.toMatchObject(unknown);
      const { rolloutId } = await claimNew();
      await expect(store.updateAttempt(rolloutId, 'at-unknown', { status: 'failed' })).rejects.toMatchObject({
        code: 'NOT_FOUND',
        details: { kind: 'Attempt', id: 'at-unknown' },
      });
    });

    test('because it asks for too little is VALIDATION', async () => {
      await expect(store.queryRollouts({ limit: 0 })).rejects.toMatchObject({ code: 'VALIDATION' });
    });

    test('because it is ours alone is NOT_FOUND', async () => {
      const run = { runId: 'run-1', name: 'x', config: {} };
      await expect(store.createRun(run)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await expect(store.watchChanges()[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });
  });

  describe('the responses of both servers', () => {
    let ours: StoreServer;
    let behind: SqlStore;

    beforeAll(async () => {
      behind = await openStore(':memory:');
      ours = await createStoreServer({ store: behind, port: 0 });
    });

    afterAll(async () => {
      await ours.close();
      await behind.close();
    });

    const rollout = { method: 'POST', path: '/rollouts', body: { input: 1 } };
    const cases: readonly { readonly method: string; readonly path: string; readonly body?: unknown }[] = [
      { method: 'GET', path: '/health' },
      { method: 'GET', path: '/statistics' },
      { method: 'GET', path: '/nonsense' },
      rollout,
      { ...rollout, body: {} },
      { ...rollout, body: { input: 1, mode: 'dream' } },
      { ...rollout, body: { input: 1, config: { max_attempts: 0 } } },
      { ...rollout, body: '{"input": ' },
      { method: 'POST', path: '/queues/rollouts/enqueue', body: { rollouts: [] } },
      { method: 'POST', path: '/queues/rollouts/enqueue', body: { rollouts: [{ input: null }, {}] } },
      { method: 'POST', path: '/queues/rollouts/enqueue' },
      { method: 'POST', path: '/queues/rollouts/dequeue' },
      { method: 'POST', path: '/queues/rollouts/dequeue', body: null },
      { method: 'POST', path: '/queues/rollouts/dequeue', body: { limit: -3 } },
      { method: 'POST', path: '/queues/rollouts/dequeue', body: { limit: 'all' } },
      { method: 'GET', path: '/rollouts?limit=0' },
      { method: 'GET', path: '/rollouts?limit=-2' },
      { method: 'GET', path: '/rollouts?limit=many' },
      { method: 'GET', path: '/rollouts?offset=-1' },
      { method: 'GET', path: '/rollouts?sort_by=nonsense' },
      { method: 'GET', path: '/rollouts?sort_order=sideways' },
      { method: 'GET', path: '/rollouts?filter_logic=xor' },
      { method: 'GET', path: '/rollouts?status_in=sleeping' },
      {
        method: 'GET',
        path: '/rollouts?status_in=queuing&status_in=failed&sort_by=start_time&sort_order=desc&limit=3',
      },
      { method: 'POST', path: '/rollouts/search', body: {} },
      { method: 'POST', path: '/rollouts/search' },
      { method: 'POST', path: '/rollouts/search', body: { limit: 0 } },
      { method: 'POST', path: '/rollouts/ro-any', body: { status: null } },
      { method: 'POST', path: '/rollouts/ro-any', body: { config: null } },
      { method: 'POST', path: '/rollouts/ro-any' },
      { method: 'POST', path: '/rollouts/ro-any/attempts/latest', body: { worker_id: null } },
      { method: 'POST', path: '/rollouts/ro-any/attempts/latest', body: { status: 'asleep' } },
      { method: 'POST', path: '/rollouts/ro-any/attempts/latest' },
      { method: 'GET', path: '/rollouts/ro-any/attempts?sort_by=nonsense' },
      { method: 'GET', path: '/workers' },
      { method: 'GET', path: '/workers?limit=0' },
      { method: 'GET', path: '/workers/unknown' },
      { method: 'POST', path: '/workers/worker-1' },
      { method: 'POST', path: '/workers/worker-1', body: { heartbeat_stats: null } },
      { method: 'POST', path: '/workers/search', body: { status_in: ['idle'], filter_logic: 'or' } },
      { method: 'GET', path: '/resources' },
      { method: 'GET', path: '/resources/latest' },
      { method: 'GET', path: '/resources/rs-unknown' },
      { method: 'POST', path: '/resources', body: {} },
      { method: 'POST', path: '/resources', body: { a: { resource_type: 'nonsense' } } },
      { method: 'POST', path: '/resources/rs-1', body: { a: { resource_type: 'llm', endpoint: 'x', model: 'y' } } },
      { method: 'GET', path: '/spans' },
      { method: 'GET', path: '/spans?rollout_id=ro-any' },
      { method: 'POST', path: '/spans/search', body: {} },
      { method: 'POST', path: '/spans/search', body: { rollout_id: 'ro-any', sort_by: 'nonsense' } },
      { method: 'POST', path: '/spans', body: {} },
      { method: 'POST', path: '/spans/next', body: { rollout_id: 'ro-any' } },
      { method: 'POST', path: '/waits/rollouts', body: { rollout_ids: ['ro-unknown'], timeout: 0 } },
      { method: 'POST', path: '/waits/rollouts', body: { timeout: 0 } },
      { method: 'POST', path: '/health' },
    ];

    const sortFields = [
      ['/rollouts', 'rollout_id start_time end_time mode resources_id status'],
      ['/workers', 'worker_id status last_heartbeat_time last_dequeue_time last_busy_time last_idle_time'],
      ['/workers', 'current_rollout_id current_attempt_id'],
      ['/resources', 'resources_id create_time update_time version'],
      ['/spans?rollout_id=ro-any', 'attempt_id sequence_id trace_id span_id parent_id name start_time end_time'],
    ].flatMap(([path = '', fields = '']) =>
      fields.split(' ').map((field) => `${path}${path.includes('?') ? '&' : '?'}sort_by=${field}`),
    );

    test.each(sortFields)('are sorted alike: %s', async (path) => {
      expect(await statusFrom(ours.url, { method: 'GET', path })).toBe(200);
      expect(await statusFrom(server.url, { method: 'GET', path })).toBe(200);
    });

    test('attempts are sorted alike', async () => {
      for (const url of [ours.url, server.url]) {
        const client = new StoreClient({ baseUrl: url });
        const { rolloutId } = await client.startRollout({ input: 1, workerId: 'b' });
        await client.startAttempt(rolloutId, 'c');
        await client.startAttempt(rolloutId, 'a');
        const page = await client.queryAttempts(rolloutId, { sortBy: 'workerId', sortOrder: 'desc' });
        expect(page.items.map(({ workerId }) => workerId)).toEqual(['c', 'b', 'a']);
        for (const sortBy of ['attemptId', 'lastHeartbeatTimeMs', 'status', 'startTimeMs', 'endTimeMs'] as const) {
          expect(await client.queryAttempts(rolloutId, { sortBy })).toMatchObject({ total: 3 });
        }
      }
    });

    async function statusFrom(url: string, { method, path, body }: (typeof cases)[number]): Promise<number> {
      const headers = { 'content-type': 'application/json' };
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const response = await fetch(
        `${url}/v1/agl${path}`,
        body === undefined ? { method } : { method, headers, body: text },
      );
      await response.text();
      return response.status;
    }

    test.each(cases)('have the same status: $method $path $body', async (one) => {
      expect(await statusFrom(ours.url, one)).toBe(await statusFrom(server.url, one));
    });
  });
});
