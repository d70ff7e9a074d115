import { beforeAll, expect, test } from 'vitest';
import { pythonSuites } from '../../../tools/describe-with-python.ts';
import { pythonEnvironments } from '../../../tools/python-environment.ts';
import { checkCalls } from '../checker/check-calls.ts';
import { demonstratedCall } from '../demonstration.ts';
import { fetchLeaderboard, readTasks, shortTasks, tasksOfAllCategories } from '../prepare-tasks.ts';
import type { BfclTask } from '../task.ts';
import { candidateCalls } from './candidate-calls.ts';
import { judgeOfficially } from './official-checker.ts';

const suite = await pythonSuites(pythonEnvironments['agentlightning-runtime']);

suite('the tasks of the leaderboard', (python) => {
  let leaderboard = '';
  let train: readonly BfclTask[] = [];
  let held: readonly BfclTask[] = [];
  beforeAll(async () => {
    leaderboard = await fetchLeaderboard(python);
    ({ train, test: held } = await readTasks(leaderboard));
  }, 120_000);

  test('are divided into training and held-out tasks of each category', () => {
    expect([train.length, held.length]).toEqual([630, 210]);
    expect(new Set([...train, ...held].map(({ id }) => id)).size).toBe(840);
  });

  test('have demonstrations that the checker accepts', () => {
    const wrong = [...train, ...held].filter((task) => {
      const call = demonstratedCall(task);
      return !checkCalls(task, call === null ? [] : [call]).isCorrect;
    });
    expect(wrong.map(({ id, expected }) => ({ id, expected }))).toEqual([]);
  });

  test('of the experiment are short and have one function', () => {
    expect([shortTasks(train).length, shortTasks(held).length]).toEqual([173, 65]);
  });

  test('of the experiment with two turns are the same number of each category', () => {
    const tasks = tasksOfAllCategories(held, 16);
    const counts = ['simple_python', 'multiple', 'irrelevance'].map(
      (category) => tasks.filter(({ id }) => id.startsWith(`${category}_`)).length,
    );
    expect(counts).toEqual([16, 16, 16]);
  });

  test('have the judgements of the official checker, for right calls and for wrong ones of every kind', async () => {
    const tasks = [...train, ...held].filter(({ expected }) => expected !== null);
    const cases = tasks.flatMap((task) => candidateCalls(task).map((calls) => ({ task, calls })));
    const official = await judgeOfficially(python, { leaderboard, cases });
    expect(official).toHaveLength(cases.length);
    expect(official.filter(Boolean).length).toBeGreaterThan(2000);
    const different = cases.filter(({ task, calls }, index) => checkCalls(task, calls).isCorrect !== official[index]);
    expect(different.map(({ task, calls }) => ({ id: task.id, expected: task.expected, calls }))).toEqual([]);
  }, 120_000);
});
