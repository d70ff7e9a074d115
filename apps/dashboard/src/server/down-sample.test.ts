import { expect, test } from 'vitest';
import { MetricRanges } from './down-sample.ts';

const stepCount = 200_000;

/** The metrics of a run of many steps, in pages, with a spike. */
function manySteps(): MetricRanges {
  const ranges = new MetricRanges(stepCount);
  for (let first = 0; first < stepCount; first += 2000) {
    const page = Array.from({ length: 2000 }, (_, index) => {
      const step = first + index + 1;
      const values = { reward: step === 123_456 ? 9 : (step % 2) / 2, ...(step <= 100 ? { early: 1 } : {}) };
      return { runId: 'run-1', step, timeMs: 10 * step, values };
    });
    ranges.add(page);
  }
  return ranges;
}

test('200,000 steps are kept as 1,000 ranges with their extremes', () => {
  const ranges = manySteps();
  const metrics = ranges.view(5000);
  expect(metrics).toMatchObject({ totalSteps: stepCount, bucketSize: 200 });
  expect(metrics.steps).toHaveLength(1000);
  expect(metrics.steps.at(-1)).toBe(stepCount);
  expect(metrics.timesMs.at(0)).toBe(2000);
  const [early, reward] = metrics.series;
  expect(early?.mean.slice(0, 2)).toEqual([1, null]);
  expect(reward?.mean[0]).toBe(0.25);
  expect([reward?.low?.[617], reward?.high?.[617], reward?.high?.[618]]).toEqual([0, 9, 0.5]);
  expect(ranges.totals.get('early')).toBe(100);

  const coarse = ranges.view(300);
  expect(coarse).toMatchObject({ totalSteps: stepCount, bucketSize: 800 });
  expect(coarse.steps).toHaveLength(250);
  expect(coarse.series[0]?.mean.slice(0, 2)).toEqual([1, null]);
  expect(Math.max(...(coarse.series[1]?.high ?? []).map(Number))).toBe(9);
});

test('steps that are recorded while the metrics are read are among them', () => {
  const ranges = new MetricRanges(1);
  ranges.add([1, 2, 3].map((step) => ({ runId: 'run-1', step, timeMs: step, values: { loss: step } })));
  expect(ranges.view(10)).toMatchObject({ steps: [1, 2, 3], bucketSize: 1, series: [{ mean: [1, 2, 3] }] });
});
