import { AgentLightningError } from '@agentlightning/core';
import { expect, test } from 'vitest';
import { watchHealth } from './watch-health.ts';

test('looks again and again, and tells the first failure once', async () => {
  let looks = 0;
  const failures: AgentLightningError[] = [];
  const told = new Promise<void>((resolve) => {
    watchHealth({
      intervalMs: 1,
      checks: [
        {
          what: 'the gateway',
          check: async () => {
            looks += 1;
            if (looks >= 3) throw new TypeError('fetch failed');
          },
        },
      ],
      onFailure: (error) => {
        failures.push(error);
        resolve();
      },
    });
  });
  await told;
  expect(looks).toBe(3);
  expect(failures.map(({ code, message }) => [code, message])).toEqual([
    ['UNREACHABLE', '[UNREACHABLE] the gateway does not answer: fetch failed'],
  ]);
});

test('asked for, it throws the error of whoever looked as it is', async () => {
  const gone = new AgentLightningError({ code: 'RUNTIME_UNAVAILABLE', message: 'the runtime has died' });
  const watch = watchHealth({
    intervalMs: 60_000,
    checks: [{ what: 'the runtime', check: () => Promise.reject(gone) }],
    onFailure: () => undefined,
  });
  await expect(watch.assertHealthy()).rejects.toBe(gone);
  watch.stop();
});
