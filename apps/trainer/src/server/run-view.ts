import type { JsonObject, Run } from '@agentlightning/core';
import { judgeImprovement } from '../diagnosis/verdict.ts';
import { allEvaluations, bestCheckpoint } from '../run/best-checkpoint.ts';
import { type RunState, readRunState, type SavedStep } from '../run/run-state.ts';
import type { RunRequest } from './run-request.ts';

/** A run as the server returns it. Times are Unix seconds. */
export function runView(
  run: Run,
  { request, position }: { readonly request: RunRequest; readonly position: number | null },
): JsonObject {
  const { runId, name, status, createTimeMs, updateTimeMs } = run;
  return {
    run_id: runId,
    name,
    status,
    position,
    training: JSON.parse(JSON.stringify(request.training)) as JsonObject,
    create_time: createTimeMs / 1000,
    update_time: updateTimeMs / 1000,
    ...progressOf(run),
  };
}

const noProgress: JsonObject = {
  step: 0,
  steps: null,
  reward_before: null,
  reward_after: null,
  verdict: null,
  improved: null,
  p_value: null,
  reward_curve: [],
  checkpoint: null,
  best_checkpoint: null,
};

/** The progress of a run; a run that has not started has an empty state. */
function progressOf(run: Run): JsonObject {
  if (Object.keys(run.state).length === 0) return noProgress;
  const state = readRunState(run, '');
  const { before, after } = state;
  const verdict = before === null || after === null ? null : judgeImprovement(before, after, maxMissingShare);
  return {
    step: state.finishedStep,
    steps: state.steps,
    reward_before: before?.reward ?? null,
    reward_after: after?.reward ?? null,
    verdict: verdict?.verdict ?? null,
    improved: verdict?.isImproved ?? null,
    p_value: verdict?.pValue ?? null,
    reward_curve: [...state.rewardCurve],
    checkpoint: checkpointView(state.checkpoint),
    best_checkpoint: checkpointView(bestOf(state)),
  };
}

/** The default of `maxMissingShare`. */
const maxMissingShare = 0.05;

/** The best measured checkpoint; without one, the last. */
function bestOf(state: RunState): SavedStep | null {
  const { checkpoints, checkpoint } = state;
  return bestCheckpoint({ checkpoints, evaluations: allEvaluations(state) }) ?? checkpoint;
}

function checkpointView(saved: SavedStep | null): JsonObject | null {
  return saved === null ? null : { step: saved.step, uri: Object.values(saved.uris)[0] ?? '' };
}
