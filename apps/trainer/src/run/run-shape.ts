import { createHash } from 'node:crypto';
import { AgentLightningError, type JsonObject, type JsonValue, type Run } from '@agentlightning/core';
import { z } from 'zod';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { groupSizeOf } from '../session/session-policies.ts';

/** The tasks of a run, read and checked. */
export interface RunTasks {
  readonly train: readonly JsonValue[];
  readonly heldOut: readonly JsonValue[];
}

/** Where a run keeps its shape, within the configuration that the store has of it. */
export const shapeKey = 'rollouts';

/**
 * What decides which rollouts a run has. It must stay the same when the run is resumed: a group would otherwise be made
 * of rollouts of two tasks, and the evaluation after training of other tasks than the one before.
 */
export function rolloutShape(config: ResolvedConfig, tasks: RunTasks): JsonObject {
  return {
    kind: 'training',
    tasksPerStep: config.tasksPerStep,
    'algorithm.groupSize': groupSizeOf(config.policies),
    'evaluation.tasks': config.evaluation.tasks,
    'evaluation.rolloutsPerTask': config.evaluation.rolloutsPerTask,
    'runtime.model': config.runtime.model ?? 'the first one',
    ...(config.policies.some(({ name }) => name !== null) ? { policies: policiesText(config) } : {}),
    'tasks.train': fingerprint(tasks.train),
    'tasks.test': fingerprint(tasks.heldOut),
  };
}

/** Which models there are, and which of them are trained: a checkpoint has those. */
function policiesText({ policies }: ResolvedConfig): string {
  return policies
    .map(
      ({ name, baseModel, algorithm }) =>
        `${name} (${baseModel ?? 'the run’s model'}${algorithm === null ? ', fixed' : ''})`,
    )
    .join(', ');
}

/** @throws AgentLightningError CONFIG that names every setting that has changed since the run began */
export function assertSameShape(run: Run, shape: JsonObject): void {
  const stored = z.record(z.string(), z.json()).safeParse(run.config[shapeKey]).data ?? {};
  const changes = Object.entries(shape)
    .filter(([name, value]) => name in stored && stored[name] !== value)
    .map(([name, value]) => `${name} was ${String(stored[name])} and is now ${String(value)}`);
  if (changes.length === 0) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `run ${run.runId} cannot go on with other rollouts: ${changes.join('; ')}`,
    remedy: 'Set it back, or begin a new run. Steps, the learning rate and limits may change.',
  });
}

/** How many tasks there are, and which. */
export function fingerprint(tasks: readonly JsonValue[]): string {
  const digest = createHash('sha256').update(JSON.stringify(tasks)).digest('hex').slice(0, 12);
  return `${tasks.length} tasks (${digest})`;
}
