import type { CompletionReason } from '@agentlightning/core/protocol';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { stageConfig } from '../config/stages.ts';
import type { RunState, SavedStep, StageRecord } from './run-state.ts';

const onlyStage: StageRecord = { firstStep: 0, start: null, ended: null };

/** The present stage of a run; of a run without stages, the whole run. */
export function presentStage({ stages = [] }: Pick<RunState, 'stages'>): StageRecord {
  return stages.at(-1) ?? onlyStage;
}

/** The configuration of the present stage of a run. */
export function presentConfig(config: ResolvedConfig, state: Pick<RunState, 'stages'>): ResolvedConfig {
  const index = Math.max(0, (state.stages?.length ?? 1) - 1);
  return stageConfig(config, { index, firstStep: presentStage(state).firstStep });
}

/** The results of a run that belong to its present stage: what ends the stage depends on these. */
export function stageResults<
  TState extends Pick<RunState, 'stages' | 'rewardCurve' | 'warnings' | 'before' | 'evaluations'>,
>(state: TState): TState {
  const { firstStep, start } = presentStage(state);
  if (start === null) return state;
  return {
    ...state,
    before: null,
    rewardCurve: state.rewardCurve.slice(firstStep),
    warnings: state.warnings.filter(({ step }) => step > firstStep),
    evaluations: state.evaluations.filter(({ step }) => step === start.step || step > firstStep),
  };
}

/** The checkpoints that the models of the present stage can load. */
export function stageCheckpoints({
  stages = [],
  checkpoints,
}: Pick<RunState, 'stages' | 'checkpoints'>): readonly SavedStep[] {
  const { firstStep, start } = presentStage({ stages });
  return start === null ? checkpoints : checkpoints.filter(({ step }) => step === start.step || step > firstStep);
}

/**
 * The state of a run whose next stage begins. Weights are those of a checkpoint; the optimizer, the results of training tasks and
 * policy versions are new.
 */
export function withNextStage(
  state: RunState,
  { start, ended }: { readonly start: SavedStep; readonly ended: CompletionReason },
): RunState {
  const begun = (state.stages ?? []).map((stage) => ({ ...stage, ended: stage.ended ?? ended }));
  return {
    ...state,
    checkpoint: null,
    // In the next stage its models have their own copy.
    checkpoints: state.checkpoints.filter(({ step }) => step !== start.step),
    stages: [...begun, { firstStep: state.finishedStep, start, ended: null }],
    collection: state.collection === null ? null : { ...state.collection, openGroups: [], repeating: [] },
    passRates: { current: [], saved: [] },
    taskTrials: { current: [], saved: [] },
  };
}
