import { expect, test } from 'vitest';
import type { RunDetail, RunMetrics } from '../src/api/run-views.ts';
import { healthMetrics, healthSeries, isOutside } from '../web/data/health-metrics.ts';
import { rewardParts } from '../web/data/reward-parts.ts';

function run(config: RunDetail['config']): RunDetail {
  return { config } as RunDetail;
}

function metrics(series: Readonly<Record<string, readonly (number | null)[]>>): RunMetrics {
  const all = Object.entries(series).map(([name, mean]) => ({ name, mean }));
  return { steps: [1, 2], timesMs: [1000, 2000], totalSteps: 2, bucketSize: 1, series: all };
}

test('the thresholds of the warnings are the limits, with which the last value is compared', () => {
  const read = metrics({
    'policy/entropy': [2, 0.1],
    'writer/policy/entropy': [1, 1],
    'policy/publish_gap': [0.1, 0.3],
  });
  const entropy = healthMetrics.find(({ metric }) => metric.name === 'policy/entropy');
  const found = entropy === undefined ? [] : healthSeries(read, entropy);
  const limits = found.map((series) => entropy?.limits(run({}), series, read));
  expect(limits).toEqual([
    { low: 0.2, high: 4 },
    { low: 0.1, high: 2 },
  ]);
  expect(found.map((series, index) => isOutside(series, limits[index] ?? { low: null, high: null }))).toEqual([
    true,
    false,
  ]);
});

test('a run without a recorded configuration has no configured limits', () => {
  const read = metrics({ 'policy/logprob_gap': [1, 1], 'staleness/mean': [1, 5] });
  for (const metric of healthMetrics) {
    for (const series of healthSeries(read, metric)) {
      expect(metric.limits(run({ stop: 'none' }), series, read)).toEqual({ low: null, high: null });
    }
  }
});

test('the parts of the reward are stacked with their weights', () => {
  const read = metrics({ 'reward/mean': [9, 9], 'reward/a/mean': [1, 2], 'reward/b/mean': [0.5, null] });
  const { parts, isWeighted } = rewardParts(run({ algorithm: { rewardWeights: { a: 1, b: 2 } } }), read);
  expect(isWeighted).toBe(true);
  expect(parts).toEqual([
    { name: 'a', values: [1, 2], stack: { low: [0, 0], high: [1, 2] } },
    { name: 'b', values: [1, null], stack: { low: [1, 2], high: [2, null] } },
  ]);
  const unweighted = rewardParts(run({ algorithm: { rewardWeights: { b: 1 } } }), read);
  expect(unweighted.parts.map(({ name }) => name)).toEqual(['b']);
});

test('without weights, the parts are not stacked: one of them can be the total', () => {
  const { parts, isWeighted } = rewardParts(run({}), metrics({ 'reward/total/mean': [3, 3], 'reward/a/mean': [1, 2] }));
  expect(isWeighted).toBe(false);
  expect(parts).toEqual([
    { name: 'total', values: [3, 3], stack: null },
    { name: 'a', values: [1, 2], stack: null },
  ]);
});
