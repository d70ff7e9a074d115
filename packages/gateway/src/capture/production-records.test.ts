import { AgentLightningError } from '@agentlightning/core';
import { aSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { ProductionRecords } from './production-records.ts';

const silent = { warn: () => undefined, error: () => undefined };

test('while the store is away, a bounded number of calls waits, and queueing one takes far below a millisecond', async () => {
  const recordTraces = async (): Promise<never> => {
    throw new AgentLightningError({ code: 'UNREACHABLE', message: 'the store is away' });
  };
  const records = new ProductionRecords({ store: { recordTraces }, log: silent });
  const body = 'x'.repeat(200);
  const durations: number[] = [];
  for (let call = 0; call < 25_000; call += 1) {
    const span = aSpan({ rolloutId: `ro-${call}`, attributes: { body } });
    const startMs = performance.now();
    records.append('support-agent', span);
    durations.push(performance.now() - startMs);
  }
  const p99 = durations.toSorted((one, other) => one - other)[Math.floor(0.99 * durations.length)];
  expect(p99).toBeLessThan(1);
  expect(records.counts).toMatchObject({ stored: 0, waiting: 20_000, lost: 5000 });
  records.close();
  await records.flush();
  expect(records.counts).toEqual({ stored: 0, waiting: 0, lost: 25_000 });
});
