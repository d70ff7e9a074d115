import { openStore, type SqlStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ChangeEvent } from '../src/api/store-views.ts';
import { type Dashboard, serveDashboard } from '../src/index.ts';

let store: SqlStore;
let dashboard: Dashboard;

beforeEach(async () => {
  store = await openStore(':memory:');
  dashboard = await serveDashboard({ store });
});

afterEach(async () => {
  await dashboard.close();
  await store.close();
});

/** The change events of a stream. */
async function* eventsOf(signal: AbortSignal): AsyncGenerator<ChangeEvent, void, undefined> {
  const { body, headers } = await fetch(`${dashboard.url}/api/events`, { signal });
  expect(headers.get('content-type')).toContain('text/event-stream');
  let text = '';
  for await (const chunk of body ?? []) {
    text += Buffer.from(chunk).toString();
    const parts = text.split('\n\n');
    text = parts.pop() ?? '';
    for (const part of parts) {
      const data = /^event: changes\ndata: (.*)$/m.exec(part)?.[1];
      if (data !== undefined) yield JSON.parse(data) as ChangeEvent;
    }
  }
}

test('the first event reports unknown changes, the next ones what changed', async () => {
  const stop = new AbortController();
  const events = eventsOf(stop.signal);
  expect((await events.next()).value).toEqual({ runIds: [], rolloutIds: [], isUnknown: true });
  await store.createRun({ runId: 'run-1', name: 'one', config: {} });
  await store.enqueueRollouts([{ rolloutId: 'ro-1', input: 1, runId: 'run-1' }]);
  const seen = { runs: new Set<string>(), rollouts: new Set<string>() };
  for await (const { runIds, rolloutIds } of events) {
    for (const id of runIds) seen.runs.add(id);
    for (const id of rolloutIds) seen.rollouts.add(id);
    if (seen.runs.has('run-1') && seen.rollouts.has('ro-1')) break;
  }
  stop.abort();
  expect(seen.rollouts).toEqual(new Set(['ro-1']));
});

test('closing the dashboard ends open streams', async () => {
  const events = eventsOf(new AbortController().signal);
  await events.next();
  await dashboard.close();
  expect((await events.next()).done).toBe(true);
});

test('a notice of the end is the last event of open streams', async () => {
  const response = await fetch(`${dashboard.url}/api/events`);
  const text = response.text();
  await dashboard.close('The training has ended.');
  expect(await text).toContain('event: closing\ndata: {"notice":"The training has ended."}');
});
