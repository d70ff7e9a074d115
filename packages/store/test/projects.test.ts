import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AttemptTokens, spanInputCodec } from '@agentlightning/core/protocol';
import { StoreClient } from '@agentlightning/core/store-client';
import { aSpan } from '@agentlightning/core/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createStoreServer, openProjectStores, type ProjectStores, type StoreServer } from '../src/index.ts';
import { storeRoutes } from '../src/server/route-handler.ts';
import { createTestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';

const attemptTokens = new AttemptTokens({ secrets: ['s'.repeat(32)] });
const marker = 'only project alpha may see this';

/** The ids of project alpha, or unknown ones. */
interface Ids {
  readonly rolloutId: string;
  readonly attemptId: string;
  readonly resourcesId: string;
  readonly runId: string;
  readonly workerId: string;
}

/** The body of a request that names the ids. */
function bodyOf(name: string, ids: Ids): unknown {
  const { rolloutId, attemptId, runId, workerId } = ids;
  const attempt = { rollout_id: rolloutId, attempt_id: attemptId };
  const span = spanInputCodec.encode(aSpan({ rolloutId, attemptId }));
  const bodies: Readonly<Record<string, unknown>> = {
    enqueueRollouts: { rollouts: [{ input: 'theirs', rollout_id: rolloutId }] },
    queryRollouts: {},
    updateRollout: { metadata: {} },
    updateAttempt: { metadata: {} },
    updateWorker: {},
    addResources: {},
    updateResources: {},
    querySpans: { rollout_id: rolloutId },
    nextSpanSequenceIds: { attempts: [attempt] },
    nextSpanSequenceId: attempt,
    readTraces: { rollout_ids: [rolloutId] },
    searchSpans: { run_id: runId },
    createRun: { run_id: runId, name: 'theirs', config: {} },
    updateRun: { status: 'stopped' },
    waitForRollouts: { rollout_ids: [rolloutId], timeout: 0 },
    claimRollouts: { limit: 100, worker_id: workerId },
    appendSpan: span,
    appendSpans: { spans: [span] },
    revokeAttemptToken: { token: 'aglat.a.b.c' },
    exportTraces: { resourceSpans: [] },
  };
  return bodies[name] ?? {};
}

/** Routes that create rows of the given ids. They come last: afterwards, the other projects have rows of these ids. */
const creating: readonly string[] = ['enqueueRollouts', 'createRun', 'updateResources', 'updateWorker'];
const reading = storeRoutes.map(([route]) => route).filter((route) => !creating.includes(route));

interface Backend {
  readonly location: string;
  readonly end: () => Promise<void>;
}

function describeProjects(name: string, start: () => Promise<Backend>): void {
  describe(name, () => {
    let backend: Backend;
    let projects: ProjectStores;
    let server: StoreServer;
    let ids: Ids;
    const keys: Record<string, string> = {};
    beforeAll(async () => {
      backend = await start();
      projects = await openProjectStores(backend.location);
      for (const project of ['default', 'alpha', 'beta']) {
        keys[project] = (await projects.main.createAccessKey({ name: 'team', role: 'trainer', project })).key;
      }
      keys['admin'] = (await projects.main.createAccessKey({ name: 'operator', role: 'admin' })).key;
      server = await createStoreServer({ store: projects.main, projects, port: 0, attemptTokens });
      ids = await fill(new StoreClient({ baseUrl: server.url, apiKey: keys['alpha'] ?? '' }));
    }, 120_000);
    afterAll(async () => {
      await server.close();
      await projects.close();
      await backend.end();
    });

    async function send(
      name: string,
      key: string | undefined,
      { of, prefix = '' }: { readonly of: Ids; readonly prefix?: string },
    ): Promise<{ readonly status: number; readonly text: string }> {
      const [, route] = storeRoutes.find(([each]) => each === name) ?? [];
      const pathname = route?.path.replace(/:(\w+)/g, (_, id: string) => of[id as keyof Ids]) ?? '';
      // A stream of events would not end: its query is wrong.
      const query =
        name === 'watchChanges' ? '?kind_in=nothing' : name === 'listSpans' ? `?rollout_id=${of.rolloutId}` : '';
      const response = await fetch(`${server.url}${prefix}${pathname}${query}`, {
        method: route?.method ?? 'GET',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(route?.method === 'POST' ? { body: JSON.stringify(bodyOf(name, of)) } : {}),
      });
      return { status: response.status, text: await response.text() };
    }

    test.each([...reading, ...creating])('%s of another project is as if it did not exist', async (route) => {
      const unknown = Object.fromEntries(
        Object.entries(ids).map(([key, id]) => [key, `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`]),
      ) as unknown as Ids;
      const anonymised = (text: string, of: Ids): string =>
        Object.entries(of).reduce((shown, [key, id]) => shown.replaceAll(id, key), text);
      for (const key of [keys['beta'], keys['default']]) {
        const missing = await send(route, key, { of: unknown });
        const answer = await send(route, key, { of: ids });
        expect(answer.status).toBe(missing.status);
        expect(answer.text).not.toContain(marker);
        if (answer.status >= 400) expect(anonymised(answer.text, ids)).toBe(anonymised(missing.text, unknown));
        const prefixed = await send(route, key, { of: ids, prefix: '/projects/alpha' });
        expect(prefixed).toMatchObject({ status: 404, text: expect.stringContaining('Project alpha not found') });
      }
    });

    test('the key of a project, an admin with its prefix, and tokens of its attempts see it', async () => {
      const seen = await send('getRollout', keys['alpha'], { of: ids });
      expect(seen).toMatchObject({ status: 200, text: expect.stringContaining(marker) });
      expect(await send('getRollout', keys['admin'], { of: ids, prefix: '/projects/alpha' })).toEqual(seen);
      expect((await send('getRollout', keys['admin'], { of: ids })).text).not.toContain(marker);
      expect(await send('getRollout', keys['admin'], { of: ids, prefix: '/projects/gamma' })).toMatchObject({
        status: 404,
      });
      expect(await send('getRollout', 'wrong', { of: ids, prefix: '/projects/alpha' })).toMatchObject({ status: 401 });
      const client = new StoreClient({ baseUrl: server.url, apiKey: keys['alpha'] ?? '' });
      const token = await client.createAttemptToken(ids);
      expect(await send('getRollout', token, { of: ids })).toEqual(seen);
      const foreign = await attemptTokens.create({ ...ids, project: 'beta' });
      expect((await send('getRollout', foreign, { of: ids })).text).not.toContain(marker);
      await client.revokeAttemptToken(token);
      await client.close();
    });

    test('projects and their data survive a restart', async () => {
      const again = await openProjectStores(backend.location);
      expect(await again.names()).toEqual(['default', 'alpha', 'beta']);
      expect(await (await again.store('alpha')).getRun(ids.runId)).toMatchObject({ name: marker });
      await expect(again.store('gamma')).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await again.close();
    });
  });
}

/** Adds one of everything to a project. */
async function fill(store: StoreClient): Promise<Ids> {
  const { resourcesId } = await store.addResources({
    prompt: { resourceType: 'prompt_template', template: marker, engine: 'f-string' },
  });
  await store.createRun({ runId: 'run-a7', name: marker, config: { marker } });
  await store.updateRun('run-a7', { status: 'running' }, [
    { runId: 'run-a7', step: 1, timeMs: 1, values: { [marker]: 1 } },
  ]);
  await store.enqueueRollouts([
    { rolloutId: 'ro-queued7', input: marker, runId: 'run-a7' },
    { rolloutId: 'ro-a7', input: marker, runId: 'run-a7', resourcesId },
  ]);
  await store.updateWorker('worker-a7', { marker });
  const { rolloutId, attempt } = await store.startAttempt('ro-a7', 'worker-a7');
  await store.appendSpans([aSpan({ rolloutId, attemptId: attempt.attemptId, name: marker })]);
  await store.close();
  return { rolloutId, attemptId: attempt.attemptId, resourcesId, runId: 'run-a7', workerId: 'worker-a7' };
}

describeProjects('projects in files', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'agl-projects-'));
  return { location: path.join(folder, 'agl.db'), end: async () => rmSync(folder, { recursive: true }) };
});

describePostgres('PostgreSQL', () => {
  describeProjects('projects in schemas', async () => {
    const database = await createTestDatabase();
    return { location: database.url, end: async () => await database[Symbol.asyncDispose]() };
  });
});
