import { expect, test } from 'vitest';
import { smoothed, smoothedLines, stepTimes } from './chart-view.ts';

test('smoothing is a moving average without the bias of its start, and keeps gaps', () => {
  expect(smoothed([2, 2, 2], 0.9).map((value) => Number(value?.toFixed(9)))).toEqual([2, 2, 2]);
  const [first, gap, last] = smoothed([0, null, 3], 0.5);
  expect([first, gap, last]).toEqual([0, null, expect.closeTo(2, 9)]);
});

test('lines of steps are smoothed above their recorded values; evaluations, limits and stacks are not', () => {
  const line = { label: 'training', values: [0, 1], color: '--series-1' };
  const others = [
    { ...line, isSparse: true },
    { ...line, isLimit: true },
    { ...line, legendValues: [0, 1] },
  ];
  expect(smoothedLines(others, 0.5)).toEqual(others);
  expect(smoothedLines([line], 0.5)).toEqual([
    { ...line, isFaint: true },
    { ...line, values: [0, expect.closeTo(2 / 3, 9)] },
  ]);
  expect(smoothedLines([line], 0)).toEqual([line]);
});

test('the time of a step is that of its bucket, in seconds since the start of the run', () => {
  const secondsAt = stepTimes({ steps: [2, 4], timesMs: [3000, 9000] }, 1000);
  expect([0, 2, 3, 4, 9].map(secondsAt)).toEqual([0, 2, 2, 8, 8]);
});
