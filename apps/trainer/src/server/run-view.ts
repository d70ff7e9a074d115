import type { JsonObject, Run } from '@agentlightning/core';
import type { RunCheckpoint, RunInfo } from '@agentlightning/core/protocol';
import { judgeImprovement } from '../diagnosis/verdict.ts';
import { allEvaluations, bestCheckpoint } from '../run/choose-checkpoint.ts';
import { type RunState, readRunState, type SavedStep } from '../run/run-state.ts';
import type { RunRequest } from './run-request.ts';

/** A run as the server returns it. */
export function runView(
  run: Run,
  { request, position }: { readonly request: RunRequest; readonly position: number | null },
): RunInfo {
  const { runId, name, status, createTimeMs, updateTimeMs } = run;
  return {
    runId,
    name,
    status,
    position,
    training: JSON.parse(JSON.stringify(request.training)) as JsonObject,
    createTimeMs,
    updateTimeMs,
    ...progressOf(run),
  };
}

type Progress = Omit<RunInfo, 'runId' | 'name' | 'status' | 'position' | 'training' | 'createTimeMs' | 'updateTimeMs'>;

const noProgress: Progress = {
  step: 0,
  steps: null,
  rewardBefore: null,
  rewardAfter: null,
  verdict: null,
  isImproved: null,
  pValue: null,
  rewardCurve: [],
  checkpoint: null,
  bestCheckpoint: null,
};

/** The progress of a run; a run that has not started has an empty state. */
function progressOf(run: Run): Progress {
  if (Object.keys(run.state).length === 0) return noProgress;
  const state = readRunState(run, '');
  const { before, after } = state;
  const judged = before === null || after === null ? null : judgeImprovement(before, after, maxMissingShare);
  return {
    step: state.finishedStep,
    steps: state.steps,
    rewardBefore: before?.reward ?? null,
    rewardAfter: after?.reward ?? null,
    verdict: judged?.verdict ?? null,
    isImproved: judged?.isImproved ?? null,
    pValue: judged?.pValue ?? null,
    rewardCurve: state.rewardCurve,
    checkpoint: checkpointView(state.checkpoint),
    bestCheckpoint: checkpointView(bestOf(state)),
  };
}

/** The default of `maxMissingShare`. */
const maxMissingShare = 0.05;

/** The best measured checkpoint; without one, the last. */
function bestOf(state: RunState): SavedStep | null {
  const { checkpoints, checkpoint } = state;
  return bestCheckpoint({ checkpoints, evaluations: allEvaluations(state) }) ?? checkpoint;
}

function checkpointView(saved: SavedStep | null): RunCheckpoint | null {
  return saved === null ? null : { step: saved.step, uri: Object.values(saved.uris)[0] ?? '' };
}
