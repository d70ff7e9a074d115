import { type CollectedRollout, type StepContext, type StepPlan, systemClock } from '@agentlightning/core';
import type { StepSummary } from '../training-event.ts';
import { applyPlan } from './apply-plan.ts';
import { assertTrainable } from './assert-trainable.ts';
import { discardOldCheckpoints, saveCheckpoint } from './checkpoints.ts';
import { collectPhase } from './collect-phase.ts';
import { groupRollouts } from './collect-rollouts.ts';
import type { Pace } from './pace.ts';
import { tasksOfStep } from './rollout-plan.ts';
import { type RunState, writeRunState } from './run-state.ts';
import { scoreSequences } from './score-sequences.ts';
import type { TrainingSession } from './training-session.ts';
import { unlessAborted } from './unless-aborted.ts';

/** One training step, from collecting to its record in the store; the state after it. */
export async function trainStep(options: {
  readonly session: TrainingSession;
  readonly state: RunState;
  readonly pace: Pace;
}): Promise<RunState> {
  const { session, state, pace } = options;
  const { config, model } = session;
  const step = state.finishedStep + 1;
  const startedMs = systemClock.now();
  const collected = await collectStep(session, step);
  const collectedMs = systemClock.now();
  await assertTrainable(session, collected);
  await annotate(session, collected);
  const plan = await unlessAborted(planStep(session, collected, step), session.failure);
  const applying = applyPlan(plan, { model, reference: session.reference, maxLogprobGap: config.maxLogprobGap });
  const applied = await unlessAborted(applying, session.failure);
  const reward = plan.metrics['reward/mean'] ?? 0;
  const rewardCurve = [...state.rewardCurve, reward];
  const checkpoint = await saveCheckpoint(session, { ...state, rewardCurve }, step);
  const seconds = (systemClock.now() - startedMs) / 1000;
  const summary: StepSummary = {
    step,
    steps: config.steps,
    reward,
    entropy: applied.metrics['policy/entropy'] ?? null,
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
  const next: RunState = { ...state, ...checkpoint, finishedStep: step, rewardCurve };
  await session.lease.renew();
  await session.store.updateRun(session.run.runId, { state: writeRunState(next) }, [
    { runId: session.run.runId, step, timeMs: systemClock.now(), values: summary.metrics },
  ]);
  session.emit({ type: 'stepped', summary });
  return await discardOldCheckpoints(session, next);
}

/** Shows in the traces what the algorithm found in them; a span that is there already is not written again. */
async function annotate({ algorithm, store }: TrainingSession, collected: readonly CollectedRollout[]): Promise<void> {
  const spans = collected.flatMap((rollout) => algorithm.annotate?.(rollout) ?? []);
  if (spans.length > 0) await store.appendSpans(spans);
}

async function planStep(
  { algorithm, config, model, reference, capabilities }: TrainingSession,
  collected: readonly CollectedRollout[],
  step: number,
): Promise<StepPlan> {
  const { maxBatchTokens } = capabilities;
  const groups = groupRollouts(collected);
  const context: StepContext = {
    step,
    totalSteps: config.steps,
    policyVersion: (await model.state()).policyVersion,
    seed: (spreadSeed(config.seed) + step) >>> 0,
    maxBatchTokens,
  };
  const request = algorithm.scoring?.(groups, context) ?? null;
  if (request === null) return algorithm.planStep(groups, context);
  const scores = await scoreSequences(request, { model, reference, maxBatchTokens });
  return algorithm.planStep(groups, { ...context, scores });
}

/** Spreads neighbouring seeds apart, so that step 2 of seed 1 is not step 1 of seed 2. */
function spreadSeed(seed: number): number {
  return Math.imul(seed + 1, 0x9e3779b1) >>> 0;
}

async function collectStep(session: TrainingSession, step: number): Promise<readonly CollectedRollout[]> {
  const { config, tasks, algorithm } = session;
  return await collectPhase(session, {
    phase: 'step',
    step,
    tasks: tasksOfStep({ tasks: tasks.train, tasksPerStep: config.tasksPerStep, step, seed: config.seed }),
    rolloutsPerTask: algorithm.groupSize,
  });
}
