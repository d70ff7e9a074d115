import type { JudgedPrompts } from '@agentlightning/core/algorithm';
import type { RewardRange } from '../config/sections/reward-config.ts';
import { collectEvaluation } from '../evaluation/collect-evaluation.ts';
import {
  type MeasuredRewards,
  measureRewards,
  type StoredEvaluation,
  summariseRewards,
} from '../run/stored-evaluation.ts';
import { planTrial } from './plan-trial.ts';
import { promptsDigest } from './prompt-resources.ts';
import type { SearchSession } from './search-session.ts';

/** The measured version and phase. */
export interface Measurement {
  readonly phase: 'before' | 'after';
  readonly judged: Pick<JudgedPrompts, 'prompts'>;
}

/**
 * Runs the held-out tasks with a set of prompts and measures their reward. Measurements of an earlier process are read
 * from the store.
 *
 * @throws AgentLightningError when every rollout failed, which does not measure the prompts
 */
export async function measureOnTest(session: SearchSession, { phase, judged }: Measurement): Promise<MeasuredRewards> {
  const { config, run, store, tasks, resources, signal, emit } = session;
  const { prompts } = judged;
  const requests = planTrial({
    runId: run.runId,
    occasion: phase,
    promptsDigest: promptsDigest(prompts),
    split: 'test',
    tasks: tasks.test.slice(0, config.evaluation.tasks).map((input, index) => ({ index, input })),
    rolloutsPerTask: config.evaluation.rolloutsPerTask,
    resourcesId: await resources.forRollouts(prompts),
    limits: config.shared.limits,
  });
  const onProgress = (finished: number, total: number): void =>
    emit({ type: 'rollout-finished', phase, step: 0, finished, total });
  const { assertHealthy } = session;
  const { scoring } = config.shared.rewards;
  const warn = (message: string): void => emit({ type: 'warning', message });
  const collected = await collectEvaluation(requests, {
    store,
    signal,
    onProgress,
    assertHealthy,
    emit,
    scoring,
    warn,
  });
  return measureRewards(collected, config.reward, config.evaluation.rolloutsPerTask);
}

/** The evaluation of a version on the validation tasks, with its rollouts. */
export async function evaluationOnValidation(
  { run, store }: Pick<SearchSession, 'run' | 'store'>,
  judged: JudgedPrompts,
): Promise<MeasuredRewards> {
  const metadata = { phase: 'validation', prompts: promptsDigest(judged.prompts) };
  const { items } = await store.queryRollouts({ runId: run.runId, metadata });
  const byTask = new Map(items.map((rollout) => [rollout.metadata?.['task_index'], rollout]));
  return {
    rewards: judged.taskScores,
    rolloutIds: judged.taskScores.map((_, task) => byTask.get(task)?.rolloutId ?? ''),
    rolloutsPerTask: 1,
    failed: [...byTask.values()].filter(({ status }) => status !== 'succeeded').length,
  };
}

/** Compares two evaluations of the same tasks, over the tasks that have a reward in both. */
export function pairedEvaluations(
  one: MeasuredRewards,
  other: MeasuredRewards,
  range: RewardRange | null,
): { readonly before: StoredEvaluation; readonly after: StoredEvaluation } {
  const isKnown = one.rewards.map((reward, index) => reward !== null && (other.rewards[index] ?? null) !== null);
  const only = (measured: MeasuredRewards): MeasuredRewards => ({
    ...measured,
    rewards: measured.rewards.map((reward, index) => (isKnown[index] === true ? reward : null)),
  });
  return { before: summariseRewards(only(one), range), after: summariseRewards(only(other), range) };
}
