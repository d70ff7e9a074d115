import type { Rollout, Store } from '@agentlightning/core';
import { runMetrics } from '@agentlightning/core/metrics';
import { recordedFailure } from '@agentlightning/core/protocol';
import { findRewards, modelCallFromSpan } from '@agentlightning/core/spans';
import { isTerminalRolloutStatus, type MetricPoint } from '@agentlightning/core/store';
import { type FinishedRollout, readFinishedRollouts } from '../../src/results/finished-rollout.ts';
import { groupRollouts } from '../../src/rollouts/collect-rollouts.ts';

const groupSize = 4;
const tasksPerStep = 6;

/** What is lost, incomplete or counted twice in a finished run, as sentences. */
export async function findFaults(store: Store, runId: string): Promise<readonly string[]> {
  const run = await store.getRun(runId);
  const { items: points } = await store.queryMetrics(runId);
  const { items: rollouts } = await store.queryRollouts({ runId, modeIn: ['train'] });
  const finished = await readFinishedRollouts(store, rollouts);
  const steps = Number(run.state['steps']);
  const isSync = run.state['collection'] === null;
  return [
    ...(run.status === 'finished' && run.state['finishedStep'] === steps ? [] : [`the run is ${run.status}`]),
    ...(points.map(({ step }) => step).join() === Array.from({ length: steps }, (_, index) => index + 1).join()
      ? []
      : [`there are metrics of the steps ${points.map(({ step }) => step).join()}`]),
    ...(await attemptFaults(store, rollouts)),
    ...finished.flatMap(rewardFaults),
    ...points.flatMap(countFaults),
    ...(isSync ? [...points.flatMap((point) => stepFaults(point, finished)), ...versionFaults(finished)] : []),
  ];
}

/** The latest attempt decides a rollout: an earlier one, whose worker was lost, may end after it. Agents never fail. */
async function attemptFaults(store: Store, rollouts: readonly Rollout[]): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const { rolloutId, status } of rollouts) {
    const { items } = await store.queryAttempts(rolloutId);
    const last = items.at(-1);
    if (!isTerminalRolloutStatus(status)) faults.push(`${rolloutId} is ${status}`);
    if (status === 'succeeded' && last?.status !== 'succeeded') faults.push(`the last attempt of ${rolloutId} failed`);
    const blamed =
      status === 'cancelled' ? undefined : items.find((attempt) => recordedFailure(attempt)?.origin === 'agent');
    if (blamed !== undefined) faults.push(`${rolloutId} counts as a failure of its agent: ${JSON.stringify(blamed)}`);
  }
  return faults;
}

function rewardFaults({ rollout, spans }: FinishedRollout): readonly string[] {
  if (rollout.status !== 'succeeded') return [];
  const rewards = findRewards(spans).length;
  return rewards === 1 ? [] : [`${rollout.rolloutId} has ${rewards} rewards`];
}

/** Every step has learned from as many rollouts as were planned. */
function countFaults({ step, values }: MetricPoint): readonly string[] {
  const names = [
    runMetrics.rolloutsUsed.name,
    runMetrics.rolloutsFailed.name,
    runMetrics.rolloutsWithoutReward.name,
    runMetrics.rolloutsUntrainable.name,
  ];
  const count = names.reduce((sum, name) => sum + (values[name] ?? 0), 0);
  return count === groupSize * tasksPerStep ? [] : [`step ${step} has ${count} rollouts: ${JSON.stringify(values)}`];
}

/** Every step has learned from its own rollouts, and from every token of them once. */
function stepFaults({ step, values }: MetricPoint, finished: readonly FinishedRollout[]): readonly string[] {
  const own = finished.filter(({ rollout }) => rollout.metadata?.['phase'] === `step-${step}`);
  const groups = groupRollouts(own);
  const isComplete = groups.length === tasksPerStep && groups.every(({ rollouts }) => rollouts.length === groupSize);
  const tokens = own.reduce((sum, { spans }) => sum + trainedTokens(spans), 0);
  return [
    ...(isComplete ? [] : [`step ${step} has the groups ${groups.map(({ rollouts }) => rollouts.length).join()}`]),
    ...(tokens === values[runMetrics.tokensTrained.name]
      ? []
      : [
          `the rollouts of step ${step} have ${tokens} tokens, and ${values[runMetrics.tokensTrained.name]} were trained`,
        ]),
  ];
}

function trainedTokens(spans: FinishedRollout['spans']): number {
  return spans.reduce((sum, span) => {
    const call = modelCallFromSpan(span);
    return sum + (call?.isTrainable === true ? (call.choices[0]?.responseTokenIds.length ?? 0) : 0);
  }, 0);
}

/** Later steps are sampled by later weights. */
function versionFaults(finished: readonly FinishedRollout[]): readonly string[] {
  const byStep = new Map<number, number[]>();
  for (const { rollout, spans } of finished) {
    const step = Number(rollout.metadata?.['step']);
    const versions = spans.flatMap((span) => modelCallFromSpan(span)?.policyVersion ?? []);
    byStep.set(step, [...(byStep.get(step) ?? []), ...versions]);
  }
  const steps = [...byStep].toSorted(([one], [other]) => one - other);
  return steps.flatMap(([step, versions], index) => {
    const before = steps[index - 1]?.[1] ?? [];
    const isLater = before.length === 0 || Math.min(...versions) > Math.max(...before);
    return isLater
      ? []
      : [`step ${step} was sampled by versions ${spread(versions)}, the one before by ${spread(before)}`];
  });
}

function spread(versions: readonly number[]): string {
  return [...new Set(versions)].toSorted((one, other) => one - other).join();
}
