import { expect, test } from 'vitest';
import type { DataSets } from './data-sets.ts';
import { RunLog } from './run-log.ts';
import type { RunQueue } from './run-queue.ts';
import type { ServerApi } from './server-api.ts';
import { createServerApp } from './server-app.ts';

test('the open event streams of a project are limited', async () => {
  const closing = new AbortController();
  const app = createServerApp({
    // The parts that an event stream uses.
    api: { find: async () => ({ run: { status: 'running' } }) } as unknown as ServerApi,
    queue: { log: () => new RunLog('/nonexistent'), isActive: () => true } as unknown as RunQueue,
    dataSets: {} as DataSets,
    description: {},
    isReady: () => true,
    down: () => [],
    authorize: async () => 'viewer',
    closing: closing.signal,
    onFault: () => undefined,
  });
  const open = (): Response | Promise<Response> => app.request('/v1/server/runs/run-1/events');
  const streams = await Promise.all(Array.from({ length: 200 }, open));
  expect(streams.every(({ status }) => status === 200)).toBe(true);
  expect((await open()).status).toBe(429);
  await streams[0]?.body?.cancel();
  expect((await open()).status).toBe(200);
  closing.abort();
});
