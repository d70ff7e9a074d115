import { AgentLightningError, type Run } from '@agentlightning/core';
import {
  type ConstantResponse,
  type FinalCheckpoint,
  type StageSummary,
  stageSummaries,
  type TrainingSummary,
  unsolvedTasks,
} from '@agentlightning/core/protocol';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { judgeBySettings, relativePartsOf, relativeText } from '../diagnosis/verdict.ts';
import { bestConstantResponse } from '../evaluation/constant-response.ts';
import { allEvaluations } from '../run/choose-checkpoint.ts';
import { completionReason } from '../run/completion-reason.ts';
import { overlapText, type RunTasks } from '../run/run-shape.ts';
import type { RunState } from '../run/run-state.ts';
import { type StoredEvaluation, summaryOf } from '../run/stored-evaluation.ts';
import { finalConditions } from './emit-run-warnings.ts';
import { guardTexts } from './evaluate-guards.ts';
import { endsWithBest } from './run-evaluations.ts';

/** The summary of a finished run: held-out reward before and after training, compared by task. */
export function summariseRun(options: {
  readonly run: Run;
  readonly state: RunState;
  readonly tasks: RunTasks;
  readonly config: Pick<
    ResolvedConfig,
    'storeUrl' | 'reward' | 'tasks' | 'steps' | 'stop' | 'checkpoints' | 'evaluation' | 'collection' | 'stages'
  >;
  readonly seconds: number;
}): TrainingSummary {
  const { run, state, tasks, config, seconds } = options;
  const { before, after } = state;
  if (before === null || after === null) throw missingEvaluation(run.runId);
  const examples = pickExamples(before, after);
  const constantResponse = bestConstantResponse([before, after]);
  const { verdict, isImproved, pValue, missingShare } = judgeBySettings(before, after, config);
  return {
    runId: run.runId,
    before: summaryOf(before),
    after: summaryOf(after),
    verdict,
    caveats: caveatsOf({ state, tasks, config, before, after, constantResponse }),
    isImproved,
    pValue,
    missingShare,
    ...relativePartsOf(config.reward),
    rewardCurve: state.rewardCurve,
    training: {
      ended: completionReason(state, config) ?? 'steps',
      warnings: state.warnings,
      lossCurve: state.lossCurve.every((loss) => loss !== null) ? state.lossCurve : [],
      constantResponse,
      final: finalCheckpoint(state, config),
      ...(config.stages.length === 0 ? {} : { stages: stagesOf(state, config) }),
      unsolvedTasks: unsolvedTasks(state.taskTrials.current, config.collection.curriculum?.setAsideAfter ?? null),
    },
    seconds,
    exampleBefore: examples.before,
    exampleAfter: examples.after,
    dataDir: state.dataDir,
    storeUrl: config.storeUrl,
  };
}

/** The stages that a run has begun. */
function stagesOf(state: RunState, config: Pick<ResolvedConfig, 'stages' | 'steps' | 'stop'>): readonly StageSummary[] {
  const { stages: begun = [], finishedStep } = state;
  const ended = completionReason(state, config);
  return stageSummaries(
    begun.map((stage) => ({ ...stage, ended: stage.ended ?? ended })),
    { algorithms: config.stages.map(({ algorithm }) => algorithm.type), finishedStep },
  );
}

/** The share of the reward after training from which a constant response explains it. */
const constantShare = 0.9;

function caveatsOf({
  state,
  tasks,
  config,
  before,
  after,
  constantResponse,
}: Pick<Parameters<typeof summariseRun>[0], 'state' | 'tasks' | 'config'> & {
  readonly before: StoredEvaluation;
  readonly after: StoredEvaluation;
  readonly constantResponse: ConstantResponse | null;
}): readonly string[] {
  const overlap = overlapText(tasks);
  const isConstant =
    constantResponse !== null &&
    after.reward > before.reward &&
    constantResponse.reward >= constantShare * after.reward;
  const relative = relativeText(config.reward);
  return [
    ...(relative === null ? [] : [relative]),
    ...finalConditions(state, config).map(({ message }) => message),
    ...(isConstant
      ? [
          `the same response to every task, ${JSON.stringify(constantResponse.text)}, has a reward of ${constantResponse.reward.toFixed(2)} or more`,
        ]
      : []),
    ...(overlap === null ? [] : [overlap]),
    ...guardTexts(state),
  ];
}

function finalCheckpoint(state: RunState, config: Pick<ResolvedConfig, 'checkpoints' | 'evaluation'>): FinalCheckpoint {
  const evaluations = allEvaluations(state);
  const candidates = evaluations.filter(({ step }) => step > 0).length;
  const step = state.finalStep ?? state.finishedStep;
  if (!endsWithBest(config) || candidates < 2) return { step, selectedOn: null, candidates };
  return { step, selectedOn: evaluations.some((each) => each.step === 0) ? 'validation' : 'test', candidates };
}

/** The rollouts before and after training of the task with the largest gain in reward; the first of equal ones. */
export function pickExamples(
  before: StoredEvaluation,
  after: StoredEvaluation,
): { readonly before: string | null; readonly after: string | null } {
  const sampleOf = (evaluation: StoredEvaluation, index: number): number =>
    Math.floor(index / before.rolloutsPerTask) * evaluation.rolloutsPerTask +
    Math.min(index % before.rolloutsPerTask, evaluation.rolloutsPerTask - 1);
  const gains = before.rewards.map((reward, index) => {
    const later = after.rewards[sampleOf(after, index)] ?? null;
    return reward === null || later === null ? Number.NEGATIVE_INFINITY : later - reward;
  });
  const best = gains.reduce((top, gain, index) => (gain > (gains[top] ?? Number.NEGATIVE_INFINITY) ? index : top), 0);
  return { before: before.rolloutIds[best] ?? null, after: after.rolloutIds[sampleOf(after, best)] ?? null };
}

function missingEvaluation(runId: string): AgentLightningError {
  return new AgentLightningError({ code: 'INTERNAL', message: `run ${runId} ended without both evaluations` });
}
