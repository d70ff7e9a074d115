import { meanInterval } from '@agentlightning/algorithms';
import { AgentLightningError, type JudgedPrompts } from '@agentlightning/core';
import { allFailed } from '../loop/all-failed.ts';
import { collectRollouts } from '../loop/collect-rollouts.ts';
import type { StoredEvaluation } from '../loop/run-state.ts';
import { planTrial } from './plan-trial.ts';
import { promptsDigest } from './prompt-resources.ts';
import { rewardOfTrial } from './reward-of-trial.ts';
import type { SearchSession } from './search-session.ts';

/** Which version is measured, and when. */
export interface Measurement {
  readonly phase: 'before' | 'after';
  readonly judged: Pick<JudgedPrompts, 'prompts'>;
}

/**
 * Runs the held-out tasks with a set of prompts and measures their reward. Rollouts that are left out of every mean have
 * no place in it; see {@link pairedEvaluations}. What was measured in an earlier life of the search is read, not run again.
 *
 * @throws AgentLightningError when every rollout failed: that says nothing of how good the prompts are
 */
export async function measureOnTest(session: SearchSession, { phase, judged }: Measurement): Promise<OpenEvaluation> {
  const { config, run, store, tasks, resources, record, signal, emit } = session;
  const { prompts } = judged;
  const requests = planTrial({
    runId: run.runId,
    occasion: phase,
    promptsDigest: promptsDigest(prompts),
    split: 'test',
    tasks: tasks.test.slice(0, config.evaluation.tasks).map((input, index) => ({ index, input })),
    rolloutsPerTask: config.evaluation.rolloutsPerTask,
    resourcesId: await resources.forRollouts(prompts),
    settings: config.shared,
  });
  const onProgress = (finished: number, total: number): void =>
    emit({ type: 'rollout-finished', phase, step: 0, finished, total });
  // The ids follow from the prompts: one that is known is of this very measurement.
  const known = new Set(record.state[phase]?.rolloutIds);
  const keepFailed = requests.some(({ rolloutId }) => rolloutId !== undefined && known.has(rolloutId));
  const collected = await collectRollouts(requests, { store, signal, onProgress, keepFailed });
  const failed = collected.filter(({ rollout }) => rollout.status !== 'succeeded').length;
  if (failed > 0) await session.assertHealthy();
  if (failed === collected.length) throw await allFailed(store, collected);
  return {
    rewards: collected.map((one) => rewardOfTrial(one, config)),
    rolloutIds: collected.map(({ rollout }) => rollout.rolloutId),
    failed,
  };
}

/** What a version got on the validation tasks, with the rollouts that it is made of. */
export async function evaluationOnValidation(
  { run, store }: Pick<SearchSession, 'run' | 'store'>,
  judged: JudgedPrompts,
): Promise<OpenEvaluation> {
  const metadata = { phase: 'validation', prompts: promptsDigest(judged.prompts) };
  const { items } = await store.queryRollouts({ runId: run.runId, metadata });
  const byTask = new Map(items.map((rollout) => [rollout.metadata?.['task_index'], rollout]));
  return {
    rewards: judged.taskScores,
    rolloutIds: judged.taskScores.map((_, task) => byTask.get(task)?.rolloutId ?? ''),
    failed: [...byTask.values()].filter(({ status }) => status !== 'succeeded').length,
  };
}

/** Rewards as they came, null where there is none. */
export interface OpenEvaluation {
  readonly rewards: readonly (number | null)[];
  readonly rolloutIds: readonly string[];
  readonly failed: number;
}

/** The mean of the rewards that there are, with its interval. */
export function closedEvaluation({ rewards, rolloutIds, failed }: OpenEvaluation): StoredEvaluation {
  const known = rewards.flatMap((reward, place) => (reward === null ? [] : [{ reward, place }]));
  if (known.length === 0) {
    throw new AgentLightningError({ code: 'INVALID_REWARD', message: 'no rollout that was measured gave a reward' });
  }
  const values = known.map(({ reward }) => reward);
  const { mean, low, high } = meanInterval(values);
  return {
    reward: mean,
    ci95: [low, high],
    rollouts: values.length,
    failed,
    rewards: values,
    rolloutIds: known.map(({ place }) => rolloutIds[place] ?? ''),
  };
}

/** Two evaluations of the same tasks, each without those that either of them lacks. */
export function pairedEvaluations(
  one: OpenEvaluation,
  other: OpenEvaluation,
): { readonly before: StoredEvaluation; readonly after: StoredEvaluation } {
  const isKnown = one.rewards.map((reward, place) => reward !== null && (other.rewards[place] ?? null) !== null);
  const only = (evaluation: OpenEvaluation): OpenEvaluation => ({
    ...evaluation,
    rewards: evaluation.rewards.map((reward, place) => (isKnown[place] === true ? reward : null)),
  });
  return { before: closedEvaluation(only(one)), after: closedEvaluation(only(other)) };
}
