import { comparePairs } from '@agentlightning/algorithms';
import { AgentLightningError, type Run } from '@agentlightning/core';
import type { TrainingSummary } from '../training-event.ts';
import type { RunState, StoredEvaluation } from './run-state.ts';

/** What a finished run came to: held-out reward before and after, compared task by task. */
export function summariseRun(options: {
  readonly run: Run;
  readonly state: RunState;
  readonly storeUrl: string;
  readonly seconds: number;
}): TrainingSummary {
  const { run, state, storeUrl, seconds } = options;
  const { before, after } = state;
  if (before === null || after === null) throw unfinished(run.runId);
  const comparison = comparePairs(before.rewards, after.rewards);
  const examples = pickExamples(before, after);
  return {
    runId: run.runId,
    before,
    after,
    isImproved: comparison.difference > 0 && comparison.pValue < 0.05,
    pValue: comparison.pValue,
    rewardCurve: state.rewardCurve,
    seconds,
    exampleBefore: examples.before,
    exampleAfter: examples.after,
    dataDir: state.dataDir,
    storeUrl,
  };
}

/** The first task whose reward rose most: its rollout before, and the one after. */
export function pickExamples(
  before: StoredEvaluation,
  after: StoredEvaluation,
): { readonly before: string | null; readonly after: string | null } {
  const gains = before.rewards.map((reward, index) => (after.rewards[index] ?? 0) - reward);
  const best = gains.reduce((top, gain, index) => (gain > (gains[top] ?? Number.NEGATIVE_INFINITY) ? index : top), 0);
  return { before: before.rolloutIds[best] ?? null, after: after.rolloutIds[best] ?? null };
}

function unfinished(runId: string): AgentLightningError {
  return new AgentLightningError({ code: 'INTERNAL', message: `run ${runId} ended without both evaluations` });
}
