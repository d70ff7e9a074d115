import { unsolvedTasks } from '@agentlightning/core/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addOutcomes, type PassRates, readPassRates, smoothedPassRate, writePassRates } from '../run/pass-rates.ts';
import { drawTasks } from './draw-tasks.ts';
import { addTrials, effectiveTasks, type Trial, taskWeights } from './task-sampler.ts';

/** Results of up to 30 tasks. */
const outcomes = fc.array(fc.record({ task: fc.nat(29), passed: fc.double({ min: 0, max: 1, noNaN: true }) }), {
  maxLength: 60,
});
const floors = fc.double({ min: 0.01, max: 1, noNaN: true });
const memories = fc.double({ min: 0, max: 1, noNaN: true });

const none: PassRates = new Map();

describe('the weights of tasks', () => {
  test('sum to 1, and none is below its floor', () => {
    fc.assert(
      fc.property(
        fc.record({ results: outcomes, floor: floors, memory: memories, count: fc.integer({ min: 30, max: 40 }) }),
        ({ results, floor, memory, count }) => {
          const weights = taskWeights(addOutcomes(none, results, memory), count, floor);
          expect(weights.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 9);
          for (const weight of weights) expect(weight).toBeGreaterThanOrEqual((floor / count) * (1 - 1e-12));
          expect(effectiveTasks(weights)).toBeGreaterThan(0.999);
          expect(effectiveTasks(weights)).toBeLessThan(count + 1e-6);
        },
      ),
    );
  });

  test('are highest for tasks that half of the rollouts pass, and for tasks without results', () => {
    const results = [0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1].map((passed, index) => ({
      task: Math.floor(index / 4),
      passed,
    }));
    const [failed = 0, half = 0, passed = 0, untried = 0] = taskWeights(addOutcomes(none, results, 1), 4, 0.2);
    expect(half).toBe(untried);
    expect(failed).toBeCloseTo(passed, 12);
    expect(failed).toBeLessThan(half);
  });
});

describe('the results of tasks', () => {
  test('do not depend on the order in which rollouts finish', () => {
    fc.assert(
      fc.property(outcomes, memories, fc.infiniteStream(fc.nat()), (results, memory, keys) => {
        const ranks = results.map(() => Number(keys.next().value));
        const shuffled = results
          .map((result, index) => ({ result, rank: ranks[index] ?? 0 }))
          .toSorted((one, other) => one.rank - other.rank)
          .map(({ result }) => result);
        expect(writePassRates(addOutcomes(none, shuffled, memory))).toEqual(
          writePassRates(addOutcomes(none, results, memory)),
        );
      }),
    );
  });

  test('are the same after they were stored', () => {
    fc.assert(
      fc.property(outcomes, memories, (results, memory) => {
        const stored = writePassRates(addOutcomes(none, results, memory));
        expect(writePassRates(readPassRates(JSON.parse(JSON.stringify(stored))))).toEqual(stored);
      }),
    );
  });

  test('fade when the task has new ones', () => {
    const passed = Array.from({ length: 8 }, () => ({ task: 0, passed: 1 }));
    const failed = passed.map(({ task }) => ({ task, passed: 0 }));
    const rate = (memory: number): number =>
      smoothedPassRate(addOutcomes(addOutcomes(none, passed, memory), failed, memory).get(0));
    expect(rate(1)).toBe(0.5);
    expect(rate(0.5)).toBeCloseTo(5 / 14, 12);
    expect(rate(0)).toBeCloseTo(0.1, 12);
  });
});

describe('a draw', () => {
  test('has distinct tasks, the same for the same key, and avoids tasks while others are left', () => {
    fc.assert(
      fc.property(
        fc.record({
          results: outcomes,
          key: fc.string(),
          count: fc.integer({ min: 1, max: 30 }),
          busy: fc.uniqueArray(fc.nat(29)),
        }),
        ({ results, key, count, busy }) => {
          const weights = taskWeights(addOutcomes(none, results, 0.5), 30, 0.1);
          const avoided = new Set(busy);
          const drawn = drawTasks({ weights, count, key, avoided });
          expect(new Set(drawn).size).toBe(count);
          expect(drawTasks({ weights, count, key, avoided })).toEqual(drawn);
          expect(drawn.filter((task) => avoided.has(task)).length).toBe(Math.max(0, count - (30 - avoided.size)));
        },
      ),
    );
  });

  test('repeats tasks only after all others', () => {
    const drawn = drawTasks({ weights: [0.9, 0.05, 0.05], count: 7, key: 'step-1' });
    expect([0, 1, 2].map((task) => drawn.filter((each) => each === task).length).toSorted()).toEqual([2, 2, 3]);
  });

  test('has tasks in proportion to their weights', () => {
    const draws = Array.from({ length: 4000 }, (_, index) =>
      drawTasks({ weights: [0.6, 0.3, 0.1], count: 1, key: `group-${index}` }),
    ).flat();
    const shares = [0, 1, 2].map((task) => draws.filter((each) => each === task).length / draws.length);
    for (const [task, share] of [0.6, 0.3, 0.1].entries()) expect(shares[task]).toBeCloseTo(share, 1);
  });
});

describe('the trials of tasks', () => {
  const trial = (task: number, rolloutId: string, isSolved = false): Trial => ({ task, rolloutId, isSolved });

  test('name the last rollouts of tasks that none of at least as many has solved', () => {
    const first = addTrials([], [trial(0, 'ro-2'), trial(0, 'ro-1'), trial(1, 'ro-3', true), trial(2, 'ro-4')]);
    const all = addTrials(first, [trial(0, 'ro-5'), trial(0, 'ro-6'), trial(1, 'ro-7')]);
    expect(unsolvedTasks(all, 4)).toEqual([{ task: 0, rollouts: 4, examples: ['ro-2', 'ro-5', 'ro-6'] }]);
    expect(unsolvedTasks(all, 1).map(({ task }) => task)).toEqual([0, 2]);
    expect(unsolvedTasks(all, null)).toEqual([]);
  });

  test('forget the failures of a task that is solved later', () => {
    const solved = addTrials(addTrials([], [trial(0, 'ro-1')]), [trial(0, 'ro-2', true)]);
    expect(unsolvedTasks(solved, 1)).toEqual([]);
    expect(solved).toEqual([{ task: 0, rollouts: 2, isSolved: true, latest: [] }]);
  });
});
