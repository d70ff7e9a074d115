import { comparePairs } from '@agentlightning/algorithms';
import { AgentLightningError, type CollectedRollout, systemClock } from '@agentlightning/core';
import type { EvaluationPhase, StepSummary, TrainingSummary } from '../training-event.ts';
import { applyPlan } from './apply-plan.ts';
import { assertTrainable } from './assert-trainable.ts';
import { discardOldCheckpoints, saveCheckpoint } from './checkpoints.ts';
import { collectRollouts, groupRollouts } from './collect-rollouts.ts';
import { pickExamples, summariseEvaluation } from './evaluate.ts';
import { planRollouts, tasksOfStep } from './rollout-plan.ts';
import { type RunState, type StoredEvaluation, writeRunState } from './run-state.ts';
import type { TrainingSession } from './training-session.ts';

/**
 * The training loop: collect rollouts, let the algorithm plan, take the steps, publish the weights.
 *
 * A step is finished when its state and metrics are in the store, in one transaction. Whatever dies
 * before that, the step is done again from the last checkpoint with the rollouts that are there.
 */
export async function trainingLoop(session: TrainingSession): Promise<TrainingSummary> {
  const { config, emit } = session;
  const startedMs = systemClock.now();
  let state = session.state;
  if (state.checkpoint === null) {
    state = await save(session, { ...state, ...(await saveCheckpoint(session, state, 0)) });
  }
  if (state.before === null) {
    state = await save(session, { ...state, before: await evaluate(session, { phase: 'before', step: 0 }) });
  }
  const pace = new Pace(config.steps);
  while (state.finishedStep < config.steps && !hasReachedGoal(state, config.stopAtReward)) {
    session.signal.throwIfAborted();
    const step = state.finishedStep + 1;
    state = await trainStep({ session, state, step, pace });
    const isLast = step === config.steps || hasReachedGoal(state, config.stopAtReward);
    if (config.evaluation.every > 0 && step % config.evaluation.every === 0 && !isLast) {
      await evaluate(session, { phase: 'during', step });
    }
  }
  if (state.after === null) {
    const after = await evaluate(session, { phase: 'after', step: state.finishedStep });
    state = await save(session, { ...state, after }, 'finished');
  }
  const summary = summarise(session, state, (systemClock.now() - startedMs) / 1000);
  emit({ type: 'finished', summary });
  return summary;
}

/** One training step, from collecting to its record in the store. */
async function trainStep(options: {
  readonly session: TrainingSession;
  readonly state: RunState;
  readonly step: number;
  readonly pace: Pace;
}): Promise<RunState> {
  const { session, step, pace } = options;
  const { config, algorithm, model } = session;
  const startedMs = systemClock.now();
  const collected = await collectStep(session, step);
  const collectedMs = systemClock.now();
  await assertTrainable(session, collected);
  const plan = algorithm.planStep(groupRollouts(collected), {
    step,
    totalSteps: config.steps,
    policyVersion: (await model.state()).policyVersion,
    seed: (spreadSeed(config.seed) + step) >>> 0,
    maxBatchTokens: session.capabilities.maxBatchTokens,
  });
  const applied = await applyPlan(plan, { model, reference: session.reference, maxLogprobGap: config.maxLogprobGap });
  const checkpoint = await saveCheckpoint(session, options.state, step);
  const seconds = (systemClock.now() - startedMs) / 1000;
  const summary: StepSummary = {
    step,
    steps: config.steps,
    reward: plan.metrics['reward/mean'] ?? 0,
    entropy: applied.metrics['policy/entropy'] ?? 0,
    tokensPerSecond: applied.trainedTokens / seconds,
    seconds,
    secondsLeft: pace.secondsLeft(step, seconds),
    metrics: {
      ...plan.metrics,
      ...applied.metrics,
      'time/collect_s': (collectedMs - startedMs) / 1000,
      'time/step_s': seconds,
    },
  };
  const next: RunState = {
    ...options.state,
    ...checkpoint,
    finishedStep: step,
    rewardCurve: [...options.state.rewardCurve, summary.reward],
  };
  await session.store.updateRun(session.run.runId, { state: writeRunState(next) }, [
    { runId: session.run.runId, step, timeMs: systemClock.now(), values: summary.metrics },
  ]);
  session.emit({ type: 'stepped', summary });
  return await discardOldCheckpoints(session, next);
}

/** Spreads neighbouring seeds apart, so that step 2 of seed 1 is not step 1 of seed 2. */
function spreadSeed(seed: number): number {
  return Math.imul(seed + 1, 0x9e3779b1) >>> 0;
}

async function collectStep(session: TrainingSession, step: number): Promise<readonly CollectedRollout[]> {
  const { config, trainTasks, algorithm } = session;
  const tasks = tasksOfStep({ tasks: trainTasks, tasksPerStep: config.tasksPerStep, step, seed: config.seed });
  const phase = `step-${step}`;
  return await collect(session, { phase, step, mode: 'train', tasks, rolloutsPerTask: algorithm.groupSize });
}

/** Runs the held-out tasks and records the result. */
async function evaluate(
  session: TrainingSession,
  options: { readonly phase: EvaluationPhase; readonly step: number },
): Promise<StoredEvaluation> {
  const { config, heldOutTasks } = session;
  const tasks = heldOutTasks.slice(0, config.evaluation.tasks).map((input, index) => ({ index, input }));
  const phase = options.phase === 'during' ? `during-${options.step}` : options.phase;
  const collected = await collect(session, {
    phase,
    step: options.step,
    mode: 'test',
    tasks,
    rolloutsPerTask: config.evaluation.rolloutsPerTask,
  });
  if (collected.some(({ rollout }) => rollout.status !== 'succeeded')) await session.assertHealthy();
  const summary = summariseEvaluation(collected);
  session.emit({ type: 'evaluated', ...options, summary });
  return summary;
}

async function collect(
  session: TrainingSession,
  plan: Pick<Parameters<typeof planRollouts>[0], 'phase' | 'step' | 'mode' | 'tasks' | 'rolloutsPerTask'>,
): Promise<readonly CollectedRollout[]> {
  const { config, run, resourcesId, emit } = session;
  const requests = planRollouts({
    ...plan,
    runId: run.runId,
    resourcesId,
    timeoutMs: config.rolloutTimeoutMs,
    maxAttempts: config.maxAttempts,
  });
  return await collectRollouts(requests, {
    store: session.store,
    failure: session.failure,
    signal: session.signal,
    onProgress: (finished, total) => emit({ type: 'rollout-finished', phase: plan.phase, finished, total }),
  });
}

async function save(session: TrainingSession, state: RunState, status?: 'finished'): Promise<RunState> {
  const patch = status === undefined ? {} : { status };
  await session.store.updateRun(session.run.runId, { ...patch, state: writeRunState(state) });
  return state;
}

/** Three steps in a row at or above the goal. */
function hasReachedGoal(state: RunState, goal: number | null): boolean {
  const last = state.rewardCurve.slice(-3);
  return goal !== null && last.length === 3 && last.every((reward) => reward >= goal);
}

function unfinished(runId: string): AgentLightningError {
  return new AgentLightningError({ code: 'INTERNAL', message: `run ${runId} ended without both evaluations` });
}

function summarise(session: TrainingSession, state: RunState, seconds: number): TrainingSummary {
  const { before, after } = state;
  if (before === null || after === null) throw unfinished(session.run.runId);
  const comparison = comparePairs(before.rewards, after.rewards);
  const examples = pickExamples(before, after);
  return {
    runId: session.run.runId,
    before,
    after,
    isImproved: comparison.difference > 0 && comparison.pValue < 0.05,
    pValue: comparison.pValue,
    rewardCurve: state.rewardCurve,
    seconds,
    exampleBefore: examples.before,
    exampleAfter: examples.after,
    dataDir: session.config.dataDir,
    storeUrl: session.config.storeUrl,
  };
}

/** Tells how long the remaining steps will take, from a moving average of the last ones. */
class Pace {
  readonly #steps: number;
  #secondsPerStep: number | null = null;

  constructor(steps: number) {
    this.#steps = steps;
  }

  secondsLeft(step: number, seconds: number): number {
    this.#secondsPerStep = this.#secondsPerStep === null ? seconds : 0.7 * this.#secondsPerStep + 0.3 * seconds;
    return (this.#steps - step) * this.#secondsPerStep;
  }
}
