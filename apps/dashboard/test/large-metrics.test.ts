import { openStore } from '@agentlightning/store';
import { expect, test } from 'vitest';
import type { RunMetrics } from '../src/api/run-views.ts';
import { serveDashboard } from '../src/index.ts';

const [steps, names] = [20_000, 100] as const;

test('two million values of a run are sent down-sampled, while other requests are served', {
  timeout: 120_000,
}, async () => {
  const store = await openStore(':memory:');
  await store.createRun({ runId: 'run-1', name: 'long', config: {} });
  for (let first = 0; first < steps; first += 1000) {
    const points = Array.from({ length: 1000 }, (_, index) => ({
      runId: 'run-1',
      step: first + index + 1,
      timeMs: 1,
      values: Object.fromEntries(Array.from({ length: names }, (_, name) => [`metric/${name}`, first + index])),
    }));
    await store.updateRun('run-1', {}, points);
  }
  const dashboard = await serveDashboard({ store });
  const order: string[] = [];
  const get = async (path: string): Promise<string> => {
    const text = await (await fetch(`${dashboard.url}${path}`)).text();
    order.push(path);
    return text;
  };
  const large = '/api/runs/run-1/metrics?points=500';
  const reading = get(large);
  for (let request = 0; request < 5; request += 1) await get('/api/workers');
  const text = await reading;
  expect(order.indexOf(large)).toBe(5);
  expect(text.length).toBeLessThan(5_000_000);
  const metrics = JSON.parse(text) as RunMetrics;
  expect(metrics.totalSteps).toBe(steps);
  expect(metrics.steps.length).toBeLessThanOrEqual(500);
  expect(metrics.steps.at(-1)).toBe(steps);
  expect(metrics.series).toHaveLength(names);
  const [series] = metrics.series;
  expect([series?.low?.[0], series?.high?.at(-1)]).toEqual([0, steps - 1]);
  await dashboard.close();
  await store.close();
});
