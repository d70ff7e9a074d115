import type { JsonValue } from '@agentlightning/core';
import type { EnqueueRolloutRequest } from '@agentlightning/core/store';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TrainingSession } from '../session/training-session.ts';
import { planPhase } from './collect-phase.ts';
import { type NumberedTask, planRollouts, taskAt } from './rollout-plan.ts';

/** The tasks of a step of so many groups. */
function tasksOfStep(options: {
  readonly tasks: readonly JsonValue[];
  readonly tasksPerStep: number;
  readonly step: number;
  readonly seed: number;
}): readonly NumberedTask[] {
  const { tasksPerStep, step, ...stream } = options;
  return Array.from({ length: tasksPerStep }, (_, offset) =>
    taskAt({ ...stream, position: (step - 1) * tasksPerStep + offset }),
  );
}

const shape = fc.record({
  taskCount: fc.integer({ min: 1, max: 40 }),
  tasksPerStep: fc.integer({ min: 1, max: 12 }),
  seed: fc.integer({ min: 0, max: 1000 }),
});

test('every task is used once per epoch, in a different order', () => {
  fc.assert(
    fc.property(shape, ({ taskCount, tasksPerStep, seed }) => {
      const tasks = Array.from({ length: taskCount }, (_, index) => ({ index }));
      const steps = Math.ceil((taskCount * 2) / tasksPerStep);
      const order = Array.from({ length: steps }, (_, step) =>
        tasksOfStep({ tasks, tasksPerStep, step: step + 1, seed }).map(({ index }) => index),
      ).flat();
      for (const epoch of [order.slice(0, taskCount), order.slice(taskCount, 2 * taskCount)]) {
        expect([...epoch].sort((left, right) => left - right)).toEqual(tasks.map(({ index }) => index));
      }
      if (taskCount > 8) expect(order.slice(taskCount, 2 * taskCount)).not.toEqual(order.slice(0, taskCount));
    }),
  );
});

test('a step always draws the same tasks', () => {
  const tasks = Array.from({ length: 20 }, (_, index) => index);
  const options = { tasks, tasksPerStep: 6, step: 9, seed: 4 };
  expect(tasksOfStep(options)).toEqual(tasksOfStep(options));
  expect(tasksOfStep({ ...options, seed: 5 })).not.toEqual(tasksOfStep(options));
});

test('rollouts for a gateway that is not started for the run have its seed', () => {
  const config = { limits: { rolloutTimeoutMs: 1000, maxAttempts: 1 }, seed: 7 };
  const metadataOf = (gatewayUrl: string | null): unknown => {
    const session = {
      config: { ...config, gateway: { url: gatewayUrl } },
      run: { runId: 'run-1' },
      resourcesId: 'rs-1',
    };
    const plan = { phase: 'step', step: 1, tasks: [{ index: 0, input: 'a' }], rolloutsPerTask: 1 } as const;
    return planPhase(session as unknown as TrainingSession, plan)[0]?.metadata;
  };
  expect(metadataOf('http://gateway')).toMatchObject({ sampling_key: 'step-1/0/0', sampling_seed: 7 });
  expect(metadataOf(null)).not.toHaveProperty('sampling_seed');
});

test('rollout ids are unique and derived from run, phase, position and sample', () => {
  const plan = (runId: string, phase: string): readonly EnqueueRolloutRequest[] =>
    planRollouts({
      runId,
      phase,
      step: 1,
      mode: 'train',
      tasks: [
        { index: 3, input: 'a' },
        { index: 3, input: 'a' },
      ],
      rolloutsPerTask: 2,
      resourcesId: 'rs-1',
      timeoutMs: 1000,
      maxAttempts: 1,
    });
  const ids = plan('run-1', 'step-1').map(({ rolloutId }) => rolloutId);
  expect(new Set(ids).size).toBe(4);
  expect(plan('run-1', 'step-1').map(({ rolloutId }) => rolloutId)).toEqual(ids);
  const others = [...plan('run-1', 'step-2'), ...plan('run-2', 'step-1')].map(({ rolloutId }) => rolloutId);
  expect(others.some((id) => ids.includes(id))).toBe(false);
});
