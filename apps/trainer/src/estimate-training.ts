import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AgentLightningError, type JsonValue } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { runMetrics } from '@agentlightning/core/metrics';
import { costOfRun, effortOf, type StepSummary, type TrainingEvent } from '@agentlightning/core/protocol';
import { type Cost, type ModelUsage, newId } from '@agentlightning/core/store';
import { groupSizeOf } from './config/policy-learner.ts';
import type { ResolvedConfig } from './config/resolve-config.ts';
import type { TrainingListener } from './events/training-listener.ts';
import { openStoreByUrl } from './runtime/open-store-by-url.ts';
import { readConfiguredTasks } from './runtime/read-configured-tasks.ts';
import { trainWith } from './trainer.ts';

/** What a whole training would use, from a small one. */
export interface TrainingEstimate {
  /** Rollouts of the small training. */
  readonly measuredRollouts: number;
  /** Rollouts of all steps and evaluations. */
  readonly rollouts: number;
  /** Tokens of all model calls and judges: prompts and responses. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Tokens that are trained on, with their prompts. */
  readonly trainingTokens: number;
  readonly seconds: number;
  readonly cost: Cost;
}

/** Tasks of the step, and of the evaluations, of the small training. */
const fewTasks = { step: 2, evaluation: 5 };

/**
 * Trains one step on a few tasks in a temporary folder, and extends what it used to the whole training by the number of rollouts.
 * More rollouts at a time usually take less time each; longer responses of a trained model take more.
 *
 * @throws AgentLightningError CONFIG where agents or the gateway run elsewhere; what a training throws
 */
export async function estimateTraining(
  config: ResolvedConfig,
  { signal, onEvent }: { readonly signal: AbortSignal; readonly onEvent: TrainingListener },
): Promise<TrainingEstimate> {
  assertLocal(config);
  // The small training has a separate store.
  const tasks = await readAllTasks(config);
  const folder = await mkdtemp(path.join(tmpdir(), 'agentlightning-estimate-'));
  const guards = await readGuards(config);
  const small = smallConfig({ ...config, tasks, evaluation: { ...config.evaluation, guards } }, folder);
  const watch = new Stopwatch();
  const runId = newId('run');
  try {
    await trainWith(small, {
      runId,
      signal,
      onEvent: (event) => {
        watch.observe(event);
        onEvent(event);
      },
    });
    const store = await openStoreByUrl({ url: small.storeUrl, apiKey: null });
    try {
      const run = await store.getRun(runId);
      const { usage, totalRollouts } = await store.runStatistics(runId);
      return extended(config, {
        run,
        usage,
        rollouts: totalRollouts,
        heldOut: tasks.test.length,
        guards: Object.values(guards).map(({ length }) => length),
        measured: watch.measured(small),
      });
    } finally {
      await store.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function readGuards(config: ResolvedConfig): Promise<Readonly<Record<string, readonly JsonValue[]>>> {
  const entries = Object.entries(config.evaluation.guards).map(
    async ([name, source]) => [name, await readConfiguredTasks(source, config)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

async function readAllTasks(config: ResolvedConfig): Promise<{
  readonly [TName in keyof ResolvedConfig['tasks']]:
    | readonly JsonValue[]
    | Extract<ResolvedConfig['tasks'][TName], null>;
}> {
  const { train, test, validation } = config.tasks;
  return {
    train: await readConfiguredTasks(train, config),
    test: await readConfiguredTasks(test, config),
    validation: validation === null ? null : await readConfiguredTasks(validation, config),
  };
}

function assertLocal({ gateway, agents, stages }: ResolvedConfig): void {
  if (stages.length > 0) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: 'An estimate measures one training, and this run has several in its `stages`',
      remedy: 'Estimate the settings of one stage at a time, as a configuration without `stages`.',
    });
  }
  const elsewhere = gateway.url !== null ? '`gateway.url`' : agents.processes === 0 ? '`agents.processes: 0`' : null;
  if (elsewhere === null) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `An estimate has a separate store in a temporary folder, which cannot be reached with ${elsewhere}`,
    remedy: 'Estimate with agents and gateway on this machine.',
  });
}

function smallConfig(config: ResolvedConfig, folder: string): ResolvedConfig {
  const { tasksPerStep, evaluation } = config;
  return {
    ...config,
    name: 'estimate',
    dataDir: folder,
    storeUrl: `sqlite:${path.join(folder, 'agl.db')}`,
    storeApiKey: null,
    steps: 1,
    tasksPerStep: Math.min(tasksPerStep, fewTasks.step),
    evaluation: { ...evaluation, every: 0, tasks: Math.min(evaluation.tasks, fewTasks.evaluation) },
    collection: { ...config.collection, mode: 'sync' },
    limits: { ...config.limits, budget: null },
  };
}

/** The times of a small training, in seconds. */
interface Measured {
  readonly secondsPerStep: number;
  readonly secondsPerEvaluatedTask: number;
}

/** Measures the step, and the evaluation before it. */
class Stopwatch {
  #beganMs = systemClock.now();
  #evaluation: { readonly seconds: number; readonly rollouts: number } | null = null;
  #step: StepSummary | null = null;

  observe(event: TrainingEvent): void {
    const now = systemClock.now();
    if (event.type === 'started' || event.type === 'checkpointed') this.#beganMs = now;
    if (event.type === 'evaluated' && event.phase === 'before') {
      const { rollouts, missing } = event.summary;
      this.#evaluation = { seconds: (now - this.#beganMs) / 1000, rollouts: rollouts + missing };
    }
    if (event.type === 'stepped') this.#step = event.summary;
  }

  measured({ evaluation }: ResolvedConfig): Measured {
    const { seconds = 0, rollouts = 1 } = this.#evaluation ?? {};
    return {
      secondsPerStep: this.#step?.metrics[runMetrics.stepSeconds.name] ?? 0,
      secondsPerEvaluatedTask: (seconds / Math.max(1, rollouts)) * evaluation.rolloutsPerTask,
    };
  }
}

/** The use of the small training for the numbers of rollouts of the whole one. */
function extended(
  config: ResolvedConfig,
  small: {
    readonly run: Parameters<typeof costOfRun>[0];
    readonly usage: readonly ModelUsage[];
    readonly rollouts: number;
    readonly heldOut: number;
    /** The number of tasks of each guard. */
    readonly guards: readonly number[];
    readonly measured: Measured;
  },
): TrainingEstimate {
  const { steps, tasksPerStep, evaluation } = config;
  const { run, measured } = small;
  const largerStep = tasksPerStep / Math.min(tasksPerStep, fewTasks.step);
  const evaluations = 2 + (evaluation.every === 0 ? 0 : Math.floor(steps / evaluation.every));
  const guarded = small.guards.reduce((sum, tasks) => sum + Math.min(tasks, evaluation.tasks), 0);
  const evaluatedTasks = evaluations * Math.min(small.heldOut, evaluation.tasks) + 2 * guarded;
  const rollouts = steps * tasksPerStep * groupSizeOf(config.policies) + evaluatedTasks * evaluation.rolloutsPerTask;
  const share = rollouts / Math.max(1, small.rollouts);
  const usage = small.usage.map((used) => ({
    ...used,
    calls: Math.round(used.calls * share),
    inputTokens: Math.round(used.inputTokens * share),
    cachedInputTokens: Math.round(used.cachedInputTokens * share),
    outputTokens: Math.round(used.outputTokens * share),
  }));
  const total = (field: 'inputTokens' | 'outputTokens'): number => usage.reduce((sum, used) => sum + used[field], 0);
  const inSteps = (steps * tasksPerStep * groupSizeOf(config.policies)) / rollouts;
  const trained = Math.round(effortOf(run).trainingTokens * largerStep * steps);
  const effort = {
    seconds: steps * largerStep * measured.secondsPerStep + evaluatedTasks * measured.secondsPerEvaluatedTask,
    // A small step may have only groups of equal rewards, which are not trained on: then all tokens of steps are the bound.
    trainingTokens: trained > 0 ? trained : Math.round((total('inputTokens') + total('outputTokens')) * inSteps),
  };
  return {
    measuredRollouts: small.rollouts,
    rollouts,
    inputTokens: total('inputTokens'),
    outputTokens: total('outputTokens'),
    ...effort,
    cost: costOfRun({ config: run.config, state: { ...run.state, effort } }, usage),
  };
}
