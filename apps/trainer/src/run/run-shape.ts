import { createHash } from 'node:crypto';
import { AgentLightningError, type JsonObject, type JsonValue, type Run } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import { z } from 'zod';
import { groupSizeOf } from '../config/policy-learner.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { CurriculumSettings } from '../config/sections/collection-config.ts';

/** The validated tasks of a run. */
export interface RunTasks {
  readonly train: readonly JsonValue[];
  readonly heldOut: readonly JsonValue[];
  /** For evaluations during training; null evaluates on the held-out tasks. */
  readonly validation: readonly JsonValue[] | null;
  /** Of `evaluation.guards`, by name. */
  readonly guards: Readonly<Record<string, readonly JsonValue[]>>;
}

/** The results of {@link fingerprint} for {@link RunTasks}. */
export interface TaskFingerprints {
  /** Of each stage; one of a run without stages. */
  readonly train: readonly string[];
  readonly heldOut: string;
  readonly validation: string | null;
  readonly guards: string;
}

/** The number of held-out tasks that are trained on, or that select the checkpoint, as a clause; null for none. */
export function overlapText({ train, heldOut, validation, guards }: RunTasks): string | null {
  const counts = [
    { count: sharedTasks(heldOut, train), text: `of ${heldOut.length} test tasks are training tasks` },
    {
      count: sharedTasks(validation ?? [], train),
      text: `of ${validation?.length} validation tasks are training tasks`,
    },
    { count: sharedTasks(heldOut, validation ?? []), text: `of ${heldOut.length} test tasks are validation tasks` },
    ...Object.entries(guards).map(([name, tasks]) => ({
      count: sharedTasks(tasks, train),
      text: `of ${tasks.length} tasks of the guard ${name} are training tasks`,
    })),
  ];
  const texts = counts.flatMap(({ count, text }) => (count === 0 ? [] : [`${count} ${text}`]));
  return texts.length === 0 ? null : texts.join(' and ');
}

/**
 * The number of tasks that another list has too, compared by value: the order of keys and white space do not count. Numbers of
 * tasks do not count either, unless a list has tasks that differ in nothing else.
 */
function sharedTasks(tasks: readonly JsonValue[], others: readonly JsonValue[]): number {
  const hasSameContent = [tasks, others].every(
    (list) => new Set(list.map(contentOf)).size === new Set(list.map(canonical)).size,
  );
  const key = hasSameContent ? contentOf : canonical;
  const known = new Set(others.map(key));
  return tasks.filter((task) => known.has(key(task))).length;
}

const taskNumbers: ReadonlySet<string> = new Set(['id', 'idx', 'index', 'number', 'row', 'task_id', 'taskId']);

/** A task without its number. */
function contentOf(task: JsonValue): string {
  if (!isJsonObject(task)) return canonical(task);
  const fields = Object.entries(task).filter(([name]) => !taskNumbers.has(name));
  return canonical(fields.length === 0 ? task : Object.fromEntries(fields));
}

function canonical(value: JsonValue): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === 'string') return part.trim().replaceAll(/\s+/g, ' ');
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  });
}

/** The key of the shape in the stored configuration of a run. */
export const shapeKey = 'rollouts';

/**
 * The settings that determine the rollouts of a run. They must not change when the run is resumed: a group could contain
 * rollouts of two tasks, and the evaluations before and after training could differ in their tasks.
 */
export function rolloutShape(config: ResolvedConfig, tasks: TaskFingerprints): JsonObject {
  const [only = '', ...others] = tasks.train;
  return {
    kind: 'training',
    ...(config.stages.length === 0 ? trainingShape(config, only) : stagesShape(config, [only, ...others])),
    'evaluation.tasks': config.evaluation.tasks,
    'evaluation.rolloutsPerTask': config.evaluation.rolloutsPerTask,
    'runtime.model': config.runtime.model ?? 'the first one',
    ...(config.policies.some(({ name }) => name !== null) ? { policies: policiesText(config) } : {}),
    'tasks.test': tasks.heldOut,
    'tasks.validation': tasks.validation ?? 'none',
    'evaluation.guards': tasks.guards,
  };
}

type TrainingSettings = Pick<ResolvedConfig, 'tasksPerStep' | 'policies' | 'collection'>;

function trainingShape({ tasksPerStep, policies, collection }: TrainingSettings, train: string): JsonObject {
  return {
    tasksPerStep,
    'algorithm.groupSize': groupSizeOf(policies),
    curriculum: curriculumText(collection.curriculum),
    'tasks.train': train,
  };
}

function stagesShape({ stages }: ResolvedConfig, train: readonly string[]): JsonObject {
  const shapes = stages.map((stage, index) => trainingShape(stage, train[index] ?? ''));
  return Object.fromEntries(
    shapes.flatMap((shape, index) =>
      Object.entries(shape).map(([name, value]) => [`stages[${index}].${name}`, value] as const),
    ),
  );
}

function curriculumText(curriculum: CurriculumSettings | null): string {
  // Older runs do not have the setting.
  return curriculum === null
    ? 'none'
    : JSON.stringify(curriculum, (name, value: unknown) => (name === 'setAsideAfter' ? (value ?? undefined) : value));
}

/** The policies of a run and whether they are trained: checkpoints contain the trained ones. */
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
    message: `run ${run.runId} cannot be resumed with different rollouts: ${changes.join('; ')}`,
    remedy: 'Restore the settings, or start a new run. Steps, the learning rate and limits may change.',
  });
}

/** The fingerprints of the tasks of evaluations. */
export function fingerprintsOf({
  heldOut,
  validation,
  guards,
}: Omit<RunTasks, 'train'>): Omit<TaskFingerprints, 'train'> {
  return {
    heldOut: fingerprint(heldOut),
    validation: validation === null ? null : fingerprint(validation),
    guards:
      Object.entries(guards)
        .map(([name, tasks]) => `${name}: ${fingerprint(tasks)}`)
        .join(', ') || 'none',
  };
}

/** The number of tasks, with a digest of their content. */
export function fingerprint(tasks: readonly JsonValue[]): string {
  const digest = createHash('sha256').update(JSON.stringify(tasks)).digest('hex').slice(0, 12);
  return `${tasks.length} tasks (${digest})`;
}
