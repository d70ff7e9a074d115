// @module-tag long
import { distillation, grpo, sdpo } from '@agentlightning/algorithms';
import type { Algorithm } from '@agentlightning/core';
import type { CollectedGroup, StepPlan } from '@agentlightning/core/algorithm';
import { agentLightningAttributes } from '@agentlightning/core/spans';
import { loadBaseModel, type ModelEngine } from '@agentlightning/runtime-cpu/internal';
import { describe, expect, test } from 'vitest';
import { type CodeTask, codeAgent, codeTasks, hintTemplate, learnToFollow } from './learning/code-task.ts';
import { stockAgent, stockTasks } from './learning/stock-task.ts';
import { copyOf, type Lesson, learn, meanOf } from './learning/tiny-learner.ts';

/** Steps decide, not time: every draw is seeded, so that a slow machine learns the same. */
const timeoutMs = 3_600_000;

const startCheckpoint = (): Promise<ModelEngine> => loadBaseModel('tiny-chat', 1);
const adam = { optimizer: { beta2: 0.99 } } as const;

describe('codes that only feedback has, with a reward for a whole code', () => {
  const common = { ...adam, groupSize: 32, learningRate: 1e-3 } as const;
  const guided = sdpo({ ...common, feedback: ['messages'], template: hintTemplate });
  let follower: Promise<ModelEngine> | null = null;
  const followerEngine = (): Promise<ModelEngine> => {
    follower ??= startCheckpoint().then(async (engine) => {
      await learnToFollow(engine, { steps: 100, seed: 3 });
      return engine;
    });
    return follower;
  };

  /** The mean reward of the last five steps. */
  const reached = async (
    seed: number,
    algorithm: Algorithm,
    changes: Partial<Lesson<CodeTask>> = {},
  ): Promise<number> => {
    const start = await followerEngine();
    const tasks = codeTasks(2);
    const curve = await learn({
      engine: copyOf(start),
      reference: copyOf(start),
      algorithm,
      agent: codeAgent,
      tasksOfStep: () => tasks,
      steps: 100,
      seed,
      ...changes,
    });
    expect(curve[0]).toBeLessThan(0.02);
    return meanOf(curve, 5);
  };

  test.each([1, 2, 3])('sdpo learns one of two: seed %i', { timeout: timeoutMs }, async (seed) => {
    expect(await reached(seed, guided)).toBeGreaterThan(0.3);
  });

  test.each([
    ['GRPO', grpo(common), {}],
    ['sdpo without feedback', guided, { onGroups: withMessages(() => null) }],
    [
      'sdpo with the feedback of other tasks',
      guided,
      { onGroups: withMessages((messages, group) => messages.at(group - 1) ?? null) },
    ],
    ['a fixed penalty on unlikely tokens', guided, { onPlan: withPenalty }],
  ] as const)('%s does not', { timeout: timeoutMs }, async (_, algorithm, changes) => {
    expect(await reached(1, algorithm, changes)).toBeLessThan(0.02);
  });
});

/** Replaces the message of every rollout by that of a group. */
function withMessages(
  choose: (messages: readonly string[], group: number) => string | null,
): (groups: readonly CollectedGroup[]) => readonly CollectedGroup[] {
  const key = agentLightningAttributes.messageBody;
  return (groups) => {
    const messages = groups.map(({ rollouts }) =>
      String(rollouts[0]?.spans.flatMap(({ attributes }) => attributes[key] ?? [])[0] ?? ''),
    );
    return groups.map((group, index) => ({
      ...group,
      rollouts: group.rollouts.map((rollout) => ({
        ...rollout,
        spans: rollout.spans.flatMap((span) => {
          if (span.attributes[key] === undefined) return [span];
          const message = choose(messages, index);
          return message === null ? [] : [{ ...span, attributes: { ...span.attributes, [key]: message } }];
        }),
      })),
    }));
  };
}

/** The control of arXiv 2608.31046: no teacher, but the same negative advantage for every token below a probability of 0.2. */
function withPenalty(plan: StepPlan): StepPlan {
  const penalise = (logprob: number): number => (logprob < Math.log(0.2) ? -1 : 0);
  return {
    ...plan,
    updates: plan.updates.map((update) => ({
      ...update,
      batches: update.batches.map(({ data }) => ({
        data: data.map((datum) => ({ ...datum, advantages: datum.samplingLogprobs.map(penalise) })),
      })),
    })),
  };
}

test('a student learns most of what its teacher can from a tenth of the rollouts', { timeout: timeoutMs }, async () => {
  const teacher = await startCheckpoint();
  const reward = async (engine: ModelEngine): Promise<number> => {
    const measured = { engine: copyOf(engine), algorithm: grpo({ groupSize: 2, learningRate: 1e-9 }) };
    const tasksOfStep = (): ReturnType<typeof stockTasks> => stockTasks(999, 128);
    return (await learn({ ...measured, agent: stockAgent, tasksOfStep, steps: 1 }))[0] ?? 0;
  };
  const curve = await learn({
    engine: teacher,
    algorithm: grpo({ ...adam, groupSize: 8, learningRate: 2e-3, entropyCoefficient: 0.003 }),
    agent: stockAgent,
    tasksOfStep: (step) => stockTasks(step, 8),
    steps: 30,
  });
  const student = await startCheckpoint();
  const before = await reward(student);
  // 192 rollouts; the teacher had 1,920.
  await learn({
    engine: student,
    teacher,
    algorithm: distillation({
      ...adam,
      teacher: { run: 'teacher@latest' },
      groupSize: 2,
      epochs: 4,
      learningRate: { schedule: 'cosine', peak: 1e-3 },
    }),
    agent: stockAgent,
    tasksOfStep: (step) => stockTasks(step + 100, 8),
    steps: 12,
  });
  const after = await reward(student);
  expect(before).toBeLessThan(0.35);
  expect(after).toBeGreaterThan(0.8);
  expect(after).toBeGreaterThan(meanOf(curve.slice(0, 6), 3) + 0.1);
});
