import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '@agentlightning/core';
import { expect, it } from 'vitest';
import { HealthChecker } from './health-checks.ts';
import { RegisteredUpstream } from './registered-upstream.ts';
import { UpstreamClient } from './upstream-client.ts';

/** An upstream whose health checks get these statuses in turn, the last one for good. */
async function watched(statuses: readonly number[], stopAfter: number): Promise<readonly number[]> {
  let checks = 0;
  const server = createServer((_, response) => {
    response.writeHead(statuses[Math.min(checks, statuses.length - 1)] ?? 500).end('{}');
    checks += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const closing = new AbortController();
  const sleeps: number[] = [];
  const clock: Clock = {
    now: () => 0,
    sleep: async (ms) => {
      sleeps.push(ms);
      if (sleeps.length < stopAfter) return;
      closing.abort();
    },
  };
  const client = new UpstreamClient({
    connectTimeoutMs: 5000,
    silenceTimeoutMs: 5000,
    clock,
  });
  const upstream = new RegisteredUpstream({ baseUrl: `http://127.0.0.1:${port}/v1` });
  const health = new HealthChecker({
    client,
    clock,
    log: {
      error: () => undefined,
      // Each time it recovers, the next call fails again.
      warn: (_, message) => {
        if (message.includes('recovered')) queueMicrotask(() => health.failed(upstream, 'a call failed'));
      },
    },
    checks: { of: 'down', intervalMs: 100, maxIntervalMs: 1000, timeoutMs: 5000 },
    closing: closing.signal,
  });
  health.failed(upstream, 'no first byte', true);
  await once(closing.signal, 'abort');
  await client.close();
  await new Promise((resolve) => server.close(resolve));
  return sleeps;
}

it('doubles the cooldown of an upstream while its health checks fail, up to a maximum', async () => {
  expect(await watched([503], 6)).toEqual([100, 200, 400, 800, 1000, 1000]);
});

it('doubles the cooldown of an upstream whose health checks succeed and whose calls fail', async () => {
  expect(await watched([200], 5)).toEqual([100, 200, 400, 800, 1000]);
});
