// @module-tag long
import { distillation, grpo, sdpo } from '@agentlightning/algorithms';
import type { Algorithm } from '@agentlightning/core';
import type { CollectedGroup, StepPlan } from '@agentlightning/core/algorithm';
import { agentLightningAttributes } from '@agentlightning/core/spans';
import { loadBaseModel, type ModelEngine } from '@agentlightning/runtime-cpu/internal';
import { describe, expect, test } from 'vitest';
import {
  type CodeTask,
  codeTasks,
  hintTemplate,
  learnCodes,
  learnToFollow,
  shelfCodes,
  toldCodes,
} from './learning/code-task.ts';
import { stockAgent, stockTasks } from './learning/stock-task.ts';
import { copyOf, type Lesson, learn, meanOf } from './learning/tiny-learner.ts';

/** Steps decide, not time: every draw is seeded, so that a slow machine learns the same. */
const timeoutMs = 3_600_000;

const startCheckpoint = (): Promise<ModelEngine> => loadBaseModel('tiny-chat', 1);
const adam = { optimizer: { beta2: 0.99 } } as const;

describe.each([
  { what: 'a message', kind: toldCodes, feedback: ['messages'], withFeedback: withMessages },
  { what: 'the error of a tool', kind: shelfCodes, feedback: ['errors'], withFeedback: withResults },
] as const)('codes that only $what has, with a reward for a whole code', ({ kind, feedback, withFeedback }) => {
  // Without an entropy bonus a wrong letter of one of the codes becomes certain, and is sampled alone.
  const common = { ...adam, groupSize: 32, learningRate: 1e-3, entropyCoefficient: 0.3 } as const;
  const guided = sdpo({ ...common, feedback: [...feedback], template: hintTemplate });
  const tasks = codeTasks(2);
  let follower: Promise<ModelEngine> | null = null;
  const followerEngine = (): Promise<ModelEngine> => {
    follower ??= startCheckpoint().then(async (engine) => {
      await learnToFollow(engine, { kind, steps: 100, seed: 3 });
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
    const curve = await learn({
      engine: copyOf(start),
      reference: copyOf(start),
      algorithm,
      agent: kind.agent,
      tasksOfStep: () => tasks,
      steps: 150,
      seed,
      ...changes,
    });
    expect(curve[0]).toBeLessThan(0.02);
    return meanOf(curve, 5);
  };

  test.each([1, 2, 3])('sdpo learns them: seed %i', { timeout: timeoutMs }, async (seed) => {
    expect(await reached(seed, guided)).toBeGreaterThan(0.8);
  });

  test('distillation learns them with two of three seeds or more, and one of two with the others', {
    timeout: timeoutMs,
  }, async () => {
    const teacher = copyOf(await followerEngine());
    await learnCodes(teacher, { kind, tasks, steps: 150 });
    const algorithm = distillation({ ...common, learningRate: 2e-3, teacher: { run: 'teacher@latest' } });
    const rewards: number[] = [];
    for (const seed of [1, 2, 3]) rewards.push(await reached(seed, algorithm, { teacher }));
    expect(Math.min(...rewards)).toBeGreaterThan(0.4);
    expect(rewards.filter((reward) => reward > 0.8).length).toBeGreaterThanOrEqual(2);
  });

  test.each([
    ['GRPO', grpo(common), {}],
    ['sdpo without feedback', guided, { onGroups: withFeedback(() => null) }],
    [
      'sdpo with the feedback of other tasks',
      guided,
      { onGroups: withFeedback((texts, group) => texts.at(group - 1) ?? null) },
    ],
    ['a fixed penalty on unlikely tokens', guided, { onPlan: withPenalty }],
  ] as const)('%s does not', { timeout: timeoutMs }, async (_, algorithm, changes) => {
    expect(await reached(1, algorithm, changes)).toBeLessThan(0.02);
  });
});

type Choose = (texts: readonly string[], group: number) => string | null;
type OnGroups = (groups: readonly CollectedGroup[]) => readonly CollectedGroup[];

/** Replaces the message of every rollout by that of a group. */
function withMessages(choose: Choose): OnGroups {
  return withAttribute(agentLightningAttributes.messageBody, choose);
}

/** Replaces the result of the tool call of every rollout by that of a group. */
function withResults(choose: Choose): OnGroups {
  return withAttribute('gen_ai.tool.call.result', choose);
}

/** Replaces an attribute of every rollout by that of a group; null removes its span. */
function withAttribute(key: string, choose: Choose): OnGroups {
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
