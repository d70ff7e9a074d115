import { AgentLightningError } from '@agentlightning/core';
import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { systemClock, traceActivity } from '@agentlightning/core/internal';
import { runMetrics } from '@agentlightning/core/metrics';
import type { PublicationRecord, RunEffort, StepSummary, UnsolvedTask } from '@agentlightning/core/protocol';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { totalSteps } from '../config/stages.ts';
import type { TaskSampler } from '../curriculum/task-sampler.ts';
import { failingShare } from '../diagnosis/run-conditions.ts';
import { warnOfFailed, warnOfLost } from '../evaluation/collect-evaluation.ts';
import { imitationLoss, rewardMetrics } from '../evaluation/reward-metrics.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { meanReward, rolloutReward } from '../results/rollout-reward.ts';
import { callMetrics, lengthMetrics, overriddenSampling, trainableCalls } from '../rollouts/call-metrics.ts';
import { failureMetrics } from '../rollouts/failure-metrics.ts';
import { allFailed, failureText } from '../rollouts/rollout-failures.ts';
import type { CollectedStep, Collector } from '../run/collector.ts';
import { costMetrics } from '../run/cost-metrics.ts';
import { withPublications } from '../run/publication.ts';
import { type RunState, writeState } from '../run/run-state.ts';
import { trainedPolicies } from '../session/session-policies.ts';
import type { TrainingSession } from '../session/training-session.ts';
import { checkSelectors } from './check-selectors.ts';
import { discardOldCheckpoints, saveCheckpoint, unlessAborted } from './checkpoints.ts';
import { warnOfStep, warnOfUnsolved } from './emit-run-warnings.ts';
import { planPolicyUpdate } from './plan-policy-update.ts';
import { recordTraining } from './record-training.ts';
import { type PolicyStep, policyMetrics, type StepMetrics } from './step-outcome.ts';
import { updateWeights } from './update-weights.ts';
import { warnExcluded } from './warn-excluded.ts';

/** Estimates the remaining time of a run from a moving average of step durations. */
export class TimeEstimate {
  readonly #steps: number;
  #secondsPerStep: number | null = null;

  /** @param steps - the total number of steps */
  constructor(steps: number) {
    this.#steps = steps;
  }

  /** Records the duration of a step, and returns the estimated duration of the steps after it, in seconds. */
  secondsLeft(step: number, seconds: number): number {
    this.#secondsPerStep = this.#secondsPerStep === null ? seconds : 0.7 * this.#secondsPerStep + 0.3 * seconds;
    return (this.#steps - step) * this.#secondsPerStep;
  }
}

/** Runs one training step, and returns the state after it. */
export async function trainStep(options: {
  readonly session: TrainingSession;
  readonly state: RunState;
  readonly sampler: TaskSampler;
  readonly collector: Collector;
  readonly timeEstimate: TimeEstimate;
}): Promise<RunState> {
  const { session, state, sampler, collector, timeEstimate } = options;
  const { config } = session;
  const step = state.finishedStep + 1;
  const startedMs = systemClock.now();
  const collection = await traceActivity('train.collect', { step }, () => collector.collect(step));
  const { rollouts: collected } = collection;
  const collectedMs = systemClock.now();
  if (session.data === null) await checkCollected(session, collected);
  const outcomes = await traceActivity('train.learn', { step, rollouts: collected.length }, () =>
    updatePolicies(session, { collected, step }),
  );
  // Stored rollouts belong to another run.
  if (session.data === null) await recordTraining(session, { collected, outcomes, step });
  const unmatched = checkSelectors(session, { collected, outcomes, step });
  warnExcluded(session, { collected, outcomes, step });
  warnOverridden(session, collected);
  const { reward, metrics, entropy, trainedTokens } = measureStep(config, collection, outcomes);
  const rewardCurve = [...state.rewardCurve, reward];
  const unsolved = warnOfUnsolved(session, { step, tasks: recordOutcomes(sampler, collection) });
  const failure = await warnOfFailures(session, collected, metrics);
  const diagnosed = warnOfStep(session, { step, values: metrics, failure });
  const warnings = [...state.warnings, ...unmatched, ...unsolved, ...diagnosed];
  const checkpoint = await saveCheckpoint(session, { ...state, rewardCurve, warnings }, step);
  const seconds = (systemClock.now() - startedMs) / 1000;
  const effort = effortWith(outcomes, session, state);
  const summary: StepSummary = {
    step,
    steps: totalSteps(config),
    reward,
    entropy,
    tokensPerSecond: trainedTokens / seconds,
    seconds,
    secondsLeft: timeEstimate.secondsLeft(step, seconds),
    metrics: {
      ...metrics,
      ...collection.metrics,
      ...sampler.metrics(),
      ...(await costMetrics({ ...session, effort })),
      [runMetrics.rolloutsInfrastructureFailed.name]: collected.filter(({ failure }) => failure === 'infrastructure')
        .length,
      [runMetrics.collectSeconds.name]: (collectedMs - startedMs) / 1000,
      [runMetrics.stepSeconds.name]: seconds,
    },
  };
  const isSaved = checkpoint.checkpoint?.step === step;
  const next: RunState = {
    ...state,
    ...checkpoint,
    finishedStep: step,
    rewardCurve,
    lossCurve: [...state.lossCurve, imitationLoss(metrics)],
    warnings,
    publications: withPublications(state.publications, publicationsOf(outcomes, step)),
    collection: collector.state(),
    ...sampledState(sampler, state, isSaved),
    effort,
  };
  await session.lease.renew();
  await session.store.updateRun(session.run.runId, { state: writeState(next) }, [
    { runId: session.run.runId, step, timeMs: systemClock.now(), values: summary.metrics },
  ]);
  session.emit({ type: 'stepped', summary });
  return await discardOldCheckpoints(session, next);
}

/** Records the rollouts of a step. @returns the tasks that are set aside from now on */
function recordOutcomes(sampler: TaskSampler, { rollouts, setAside }: CollectedStep): readonly UnsolvedTask[] {
  const known = new Set(sampler.setAside().map(({ task }) => task));
  sampler.record([...rollouts, ...setAside]);
  return sampler.setAside().filter(({ task }) => !known.has(task));
}

/** The results of tasks in the state of a run. @param isSaved - whether the step has a checkpoint */
function sampledState(
  sampler: TaskSampler,
  state: RunState,
  isSaved: boolean,
): Pick<RunState, 'passRates' | 'taskTrials'> {
  const [passRates, trials] = [sampler.passRates(), sampler.trials()];
  return {
    passRates: { current: passRates, saved: isSaved ? passRates : state.passRates.saved },
    taskTrials: { current: trials, saved: isSaved ? trials : state.taskTrials.saved },
  };
}

/** The reward of a step and its metrics, without those of collection and time. */
function measureStep(
  { reward: definition, rewards }: ResolvedConfig,
  { rollouts, setAside }: CollectedStep,
  outcomes: readonly PolicyStep[],
): StepMetrics & { readonly reward: number } {
  // Which rollouts are set aside depends on their rewards: the mean of the others does not measure the policy.
  const reward = meanReward([...rollouts, ...setAside], definition) ?? 0;
  const { metrics, ...learned } = policyMetrics(outcomes, meanReward(rollouts, definition));
  return {
    ...learned,
    reward,
    metrics: {
      ...metrics,
      [runMetrics.collectionRewardMean.name]: reward,
      ...failureMetrics(rollouts),
      ...callMetrics(rollouts),
      ...lengthMetrics(rollouts, definition),
      ...rewardMetrics(rollouts, rewards, definition.choice?.rewardWeights ?? null),
    },
  };
}

/** Reports once which sampling parameters of the agent the configuration replaces. */
function warnOverridden(
  { config, emittedWarnings, emit }: TrainingSession,
  collected: readonly FinishedRollout[],
): void {
  const key = 'overridden sampling';
  if (emittedWarnings.has(key)) return;
  emittedWarnings.add(key);
  const replaced = overriddenSampling(trainableCalls(collected), config.sampling);
  if (replaced.length === 0) return;
  const message =
    `training replaces the sampling of the agent's requests: ${replaced.join(', ')}. Evaluations sample as the training does, ` +
    'unless `evaluation.sampling` differs; `agl eval --agent-sampling` samples as the agent asks';
  emit({ type: 'warning', message });
}

/**
 * Warns of the step's failed rollouts. Where the agents of many fail, `agent-failures` is the warning.
 *
 * @returns the first failure of an agent; null without one
 */
async function warnOfFailures(
  session: TrainingSession,
  collected: readonly FinishedRollout[],
  metrics: Readonly<Record<string, number>>,
): Promise<string | null> {
  await warnOfLost(session, collected);
  if ((metrics[runMetrics.failuresAgentShare.name] ?? 0) <= failingShare) await warnOfFailed(session, collected);
  const first = collected.find(({ failure }) => failure === 'agent');
  return first === undefined ? null : await failureText(session.store, first);
}

/** The effort of a run with that of a step: the tokens of the sequences of all updates, prompts included. */
function effortWith(
  outcomes: readonly PolicyStep[],
  { workedSeconds }: TrainingSession,
  { effort }: RunState,
): RunEffort {
  const data = outcomes.flatMap(({ plan }) =>
    plan.updates.flatMap(({ batches }) => batches.flatMap((batch) => batch.data)),
  );
  const tokens = data.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
  return { seconds: workedSeconds(), trainingTokens: effort.trainingTokens + tokens };
}

/** The publications of a step, of each policy that had an update. */
function publicationsOf(outcomes: readonly PolicyStep[], step: number): readonly PublicationRecord[] {
  return outcomes.flatMap(({ policy, result: { publication } }) =>
    publication === null ? [] : [{ step, policy: policy.name, ...publication }],
  );
}

/** Plans and applies the updates of every trained policy, concurrently: their models are independent. */
async function updatePolicies(
  session: TrainingSession,
  rollouts: { readonly collected: readonly FinishedRollout[]; readonly step: number },
): Promise<readonly PolicyStep[]> {
  const { pauseCalls, config, data } = session;
  const update = async (): Promise<readonly PolicyStep[]> => {
    const plans = trainedPolicies(session.policies).map(async (policy) => {
      const { model, reference } = policy;
      return { policy, model, reference, ...(await planPolicyUpdate(session, policy, rollouts)) };
    });
    // Stored tokens were sampled by other weights: their distance is not an error.
    const maxLogprobGap = data === null ? config.stop.maxLogprobGap : Infinity;
    return await updateWeights(await Promise.all(plans), { maxLogprobGap, pauseCalls });
  };
  return await unlessAborted(update(), session.failure);
}

/** Asserts that new rollouts can be trained on, and annotates them. Stored rollouts belong to another run. */
async function checkCollected(session: TrainingSession, collected: readonly FinishedRollout[]): Promise<void> {
  await assertTrainable(session, collected);
  await annotate(session, collected);
}

/** Appends the annotations of the algorithms to the traces. Spans that exist are not written again. */
async function annotate({ policies, store }: TrainingSession, collected: readonly CollectedRollout[]): Promise<void> {
  const spans = trainedPolicies(policies).flatMap(({ learner }) =>
    collected.flatMap((rollout) => learner.annotate?.(rollout) ?? []),
  );
  if (spans.length > 0) await store.appendSpans(spans);
}

/**
 * Asserts that at least one rollout did not fail by infrastructure, one called the model, and one has a reward. A step in
 * which all agents failed is a result of the policy, if `reward.failed` counts failures and the agents called the model.
 *
 * @throws AgentLightningError AGENT_FAILED, UPSTREAM_FAILED, NOTHING_TO_TRAIN or INVALID_REWARD; RUNTIME_UNAVAILABLE or
 *   UNREACHABLE when rollouts failed because the model is unreachable
 */
async function assertTrainable(session: TrainingSession, collected: readonly FinishedRollout[]): Promise<void> {
  const { config, store, assertHealthy } = session;
  if (collected.some(({ failure }) => failure !== null)) await assertHealthy();
  const succeeded = collected.filter(({ failure }) => failure === null);
  const counted = collected.filter((rollout) => rolloutReward(rollout, config.reward) !== null);
  const hasCalled = [...succeeded, ...counted].some(({ spans }) =>
    spans.some((span) => modelCallFromSpan(span) !== null),
  );
  if (succeeded.length === 0 && (counted.length === 0 || !hasCalled)) throw await allFailed(store, collected);
  const hints = { rollout: (succeeded[0] ?? collected[0])?.rollout.rolloutId ?? '' };
  if (!hasCalled) {
    throw new AgentLightningError({
      code: 'NOTHING_TO_TRAIN',
      message: `none of the step's ${succeeded.length} rollouts called the model through the gateway`,
      remedy: `Pass the adapter to the agent's client (\`fetch: traceFetch()\`), and inspect a rollout: \`agl show ${hints.rollout}\`.`,
      details: hints,
    });
  }
  if (counted.length > 0) return;
  const { rewardName, rewardWeights } = config.reward.choice ?? {};
  const names = rewardWeights === undefined ? [rewardName ?? []].flat() : Object.keys(rewardWeights);
  throw new AgentLightningError({
    code: 'INVALID_REWARD',
    message: `none of the step's ${succeeded.length} rollouts has a reward${names.length === 0 ? '' : ` with ${names.join(' and ')}`}`,
    ...(names.length === 0
      ? {}
      : { remedy: `Return an object with ${names.join(' and ')} from the agent, or correct \`algorithm\`.` }),
    details: hints,
  });
}
