import { expect, test } from 'vitest';
import { type Worker, workerLeaseKey } from '../../store/worker.ts';
import { readRunner, storeTimeOf } from './runner-record.ts';

const storeMs = 1_000_000_000;
const leaseMs = 30_000;

function runner(workerId: string, lastHeartbeatTimeMs: number): Worker {
  const load = { running: 0, concurrency: 1, processes: 1, memory_rss_bytes: 1 };
  const heartbeatStats = {
    kind: 'runner',
    version: '1',
    host: 'host',
    pid: 1,
    run_id: null,
    state: 'running',
    ...load,
    [workerLeaseKey]: leaseMs,
  };
  const noTimes = { lastDequeueTimeMs: null, lastBusyTimeMs: null, lastIdleTimeMs: null };
  const idle = { status: 'idle' as const, currentRolloutId: null, currentAttemptId: null };
  return { workerId, heartbeatStats, lastHeartbeatTimeMs, ...noTimes, ...idle };
}

test.each([-30_000, -15_000, 0, 15_000, 30_000])('a reader whose clock is off by %d ms sees who is lost', (skewMs) => {
  // The trainer renews its lease every two seconds.
  const trainer = { ...runner('trainer-run-1', storeMs - 1000), heartbeatStats: {} };
  const workers = [runner('alive', storeMs - 20_000), runner('lost', storeMs - 32_000), trainer];
  const nowMs = storeTimeOf(workers, storeMs + skewMs);
  expect(workers.map((worker) => readRunner(worker, nowMs)?.state)).toEqual(['running', 'lost', undefined]);
});

test('a worker that is the only one is lost, too', () => {
  const worker = runner('lost', storeMs);
  expect(readRunner(worker, storeTimeOf([worker], storeMs + 2 * leaseMs))?.state).toBe('lost');
});
