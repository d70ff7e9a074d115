import { workerLeaseKey } from '@agentlightning/core/protocol';
import { ManualClock } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import { expect, test } from 'vitest';
import type { ServiceEvent } from '../events/training-listener.ts';
import { runnerStatistics } from './start-runner.ts';
import { watchRunners } from './watch-runners.ts';

test('a registered runner that claims nothing does not count after 30 seconds, until it does', async () => {
  const clock = new ManualClock();
  const store = await openStore(':memory:', { clock, claimLeaseMs: 600_000 });
  const run = await store.createRun({ runId: 'run-1', name: 'run', config: {} });
  const load = { state: 'running', running: 0, concurrency: 1, processes: 1, memory_rss_bytes: 1 };
  const heartbeatStats = { ...runnerStatistics(null), ...load, [workerLeaseKey]: 600_000 };
  await store.updateWorker('runner-1', heartbeatStats);
  await store.enqueueRollouts([{ input: 1, runId: run.runId }]);
  const events: ServiceEvent[] = [];
  const stop = watchRunners({
    store,
    storeUrl: 'http://localhost',
    run,
    timeoutMs: 300_000,
    emit: (event) => events.push(event),
    onFailure: ({ message }) => expect.unreachable(message),
    clock,
  });
  const counts = (): readonly unknown[] =>
    events.map((event) => (event.type === 'runners' ? event.runners : event.type));
  for (let second = 0; second < 29; second += 1) await next();
  expect(counts()).toEqual([1]);
  for (let second = 0; second < 3; second += 1) await next();
  expect(counts()).toEqual([1, 0, 'warning']);
  await store.claimRollouts({ workerId: 'runner-1' });
  await next();
  expect(counts()).toEqual([1, 0, 'warning', 1]);
  await stop();
  await store.close();

  /** Waits for the current check, and begins the next. */
  async function next(): Promise<void> {
    await clock.waitForSleepers(1);
    await clock.advance(1000);
    await clock.waitForSleepers(1);
  }
});
