/**
 * `pnpm bench gateway`: model calls a second through the gateway, each recorded durably before its answer
 * leaves, against the same calls made directly, in the same run. Client, gateway and store share one
 * thread here, as they do in a trainer's process.
 *
 * @module
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { attemptBaseUrl } from '@agentlightning/core';
import { serveGateway } from '@agentlightning/gateway';
import { openStore } from '@agentlightning/store';
import { median, report, result } from '../report.ts';

const { values: flags } = parseArgs({
  options: { calls: { type: 'string', default: '2000' }, inflight: { type: 'string', default: '64' } },
});
const calls = Number(flags.calls);
const inFlight = Number(flags.inflight);
const request = JSON.stringify({ model: 'benchmark', messages: [{ role: 'user', content: 'y'.repeat(2000) }] });

/** Makes calls in a closed loop; calls a second, and the latency of each in milliseconds. */
async function measure(urlOf: (index: number) => string): Promise<{ perSecond: number; latencies: number[] }> {
  const latencies: number[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < calls) {
      const url = `${urlOf(next++)}/chat/completions`;
      const began = performance.now();
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: request,
      });
      await answer.text();
      if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`);
      latencies.push(performance.now() - began);
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: inFlight }, client));
  return { perSecond: (calls / (performance.now() - began)) * 1000, latencies };
}

const folder = mkdtempSync(path.join(tmpdir(), 'agl-bench-'));
const upstream = new Worker(new URL('./upstream.ts', import.meta.url));
const [port] = (await once(upstream, 'message')) as [number];
const direct = `http://127.0.0.1:${port}/v1`;
const store = await openStore(path.join(folder, 'agl.db'));
const gateway = await serveGateway({ store, upstream: { baseUrl: direct } });
const attempts = await Promise.all(
  Array.from({ length: inFlight }, async (_, index) => {
    const { rolloutId, attempt } = await store.startRollout({ input: { index } });
    return attemptBaseUrl(`${gateway.url}/v1`, { rolloutId, attemptId: attempt.attemptId });
  }),
);
const recorded = (index: number): string => attempts[index % attempts.length] ?? '';

await measure(() => direct);
await measure(recorded);
const rounds = { direct: [] as number[], gateway: [] as number[], added: [] as number[] };
for (let round = 0; round < 3; round += 1) {
  const plain = await measure(() => direct);
  const through = await measure(recorded);
  rounds.direct.push(plain.perSecond);
  rounds.gateway.push(through.perSecond);
  rounds.added.push(1000 * (1 / through.perSecond - 1 / plain.perSecond));
}
const stored = (await store.statistics()).totalSpans;
await gateway.close();
await store.close();
await upstream.terminate();
rmSync(folder, { recursive: true, force: true });

report('gateway', [
  result('direct calls', { value: median(rounds.direct), unit: 'calls/s' }, null),
  result('recorded calls', { value: median(rounds.gateway), unit: 'calls/s' }, null),
  result('work added to each call', { value: median(rounds.added), unit: 'ms' }, { atMost: 1.5 }),
  result('calls that are in the store', { value: stored / (4 * calls), unit: 'share' }, { atLeast: 1 }),
]);
