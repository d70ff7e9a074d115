import { AgentLightningError } from '@agentlightning/core';
import { ManualClock } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { watchHealth } from './watch-health.ts';

test('checks periodically, and reports the first failure once', async () => {
  let checks = 0;
  const failures: AgentLightningError[] = [];
  const reported = new Promise<void>((resolve) => {
    watchHealth({
      intervalMs: 1,
      outageToleranceMs: 0,
      onOutage: () => undefined,
      checks: [
        {
          what: 'the gateway',
          check: async () => {
            checks += 1;
            if (checks >= 3) throw new TypeError('fetch failed');
          },
        },
      ],
      onFailure: (error) => {
        failures.push(error);
        resolve();
      },
    });
  });
  await reported;
  expect(checks).toBe(3);
  expect(failures.map(({ code, message }) => [code, message])).toEqual([
    ['UNREACHABLE', '[UNREACHABLE] the gateway does not respond: fetch failed'],
  ]);
});

test('assertHealthy throws the error of the check unchanged', async () => {
  const gone = new AgentLightningError({ code: 'RUNTIME_UNAVAILABLE', message: 'the runtime has died' });
  const watch = watchHealth({
    intervalMs: 60_000,
    outageToleranceMs: 30_000,
    onOutage: () => undefined,
    checks: [{ what: 'the runtime', check: () => Promise.reject(gone) }],
    onFailure: () => undefined,
  });
  await expect(watch.assertHealthy()).rejects.toBe(gone);
  watch.stop();
});

test('an outage shorter than the tolerance is reported once, and is not a failure', async () => {
  const clock = new ManualClock();
  let isDown = true;
  const outages: string[] = [];
  const watch = watchHealth({
    clock,
    intervalMs: 60_000,
    outageToleranceMs: 30_000,
    checks: [{ what: 'the gateway', check: async () => void (isDown && (await refuse())) }],
    onOutage: ({ message }) => outages.push(message),
    onFailure: () => expect.unreachable(),
  });
  const healthy = watch.assertHealthy();
  await clock.advance(3000);
  isDown = false;
  await clock.advance(1000);
  await healthy;
  expect(outages).toEqual(['[UNREACHABLE] the gateway does not respond: connect ECONNREFUSED']);
  isDown = true;
  const lost = expect(watch.assertHealthy()).rejects.toMatchObject({ code: 'UNREACHABLE' });
  for (let second = 0; second < 32; second += 1) await clock.advance(1000);
  await lost;
  watch.stop();
});

function refuse(): Promise<never> {
  return Promise.reject(new Error('connect ECONNREFUSED'));
}
