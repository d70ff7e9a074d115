import { quantityText } from '@agentlightning/core/internal';
import { isMetricOf, runMetrics } from '@agentlightning/core/metrics';
import type { RunWarning, UnsolvedTask } from '@agentlightning/core/protocol';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { diagnoseEvaluation } from '../diagnosis/diagnose-evaluation.ts';
import { diagnoseFinal, type FinalCondition } from '../diagnosis/diagnose-final.ts';
import { diagnoseSteps } from '../diagnosis/diagnose-steps.ts';
import { imitationLoss } from '../evaluation/reward-metrics.ts';
import { warningExplanations, warningText } from '../events/run-warning.ts';
import type { TrainingListener } from '../events/training-listener.ts';
import type { RunState } from '../run/run-state.ts';
import type { StepRecord } from '../run/step-records.ts';
import { trainedPolicies } from '../session/session-policies.ts';
import type { TrainingSession } from '../session/training-session.ts';

/** The part of a session that its warnings depend on. */
type DiagnosedSession = Pick<TrainingSession, 'config' | 'tasks' | 'policies' | 'emit' | 'stepHistory'>;

/** Adds a finished step to the history of the session, and emits its new warnings. */
export function warnOfStep(session: DiagnosedSession, record: StepRecord): readonly RunWarning[] {
  const { config, policies, stepHistory, emit } = session;
  stepHistory.add(record);
  const names = trainedPolicies(policies).map(({ name }) => name);
  const weights = Object.entries(config.reward.choice?.rewardWeights ?? {});
  const penalised = new Set(weights.flatMap(([part, weight]) => (weight < 0 ? [part] : [])));
  const steps = stepHistory.steps.map((each) => withoutInapplicable(each, { isStored: config.data !== null }));
  const history = { steps, policies: names, range: rangeOf(session), penalised };
  return emitted(emit, diagnoseSteps(history));
}

const ratioMetrics = [runMetrics.policyEffectiveSampleFraction, runMetrics.policyClipFraction];

/** A step without metrics that cannot indicate a fault where it learned from other data than the samples of its policy. */
function withoutInapplicable(
  { values, ...record }: StepRecord,
  { isStored }: { readonly isStored: boolean },
): StepRecord {
  // Stored data and demonstrations are not those that the weights sample.
  const isSampled = !isStored && imitationLoss(values) === null;
  const kept = Object.entries(values).filter(([name]) => {
    if (isMetricOf(runMetrics.policyKlSamplerK3, name)) return isSampled;
    const ratio = ratioMetrics.find((metric) => isMetricOf(metric, name));
    // A preference loss of the same policy has no probability ratios.
    return ratio === undefined || !(name.replace(ratio.name, runMetrics.preferenceLoss.name) in values);
  });
  return { ...record, values: Object.fromEntries(kept) };
}

/** Emits the new warnings of the last evaluation of the run. */
export function warnOfEvaluation(session: DiagnosedSession, state: RunState): readonly RunWarning[] {
  const { before, after, finishedStep, finalStep, rewardCurve } = state;
  const isValidation = session.tasks.validation !== null;
  const evaluations = state.evaluations.map((evaluation) => ({ ...evaluation, isValidation }));
  const measured = [
    ...(before === null ? [] : [{ step: 0, summary: before, isValidation: false }]),
    ...evaluations,
    ...(after === null ? [] : [{ step: finalStep ?? finishedStep, summary: after, isValidation: false }]),
  ];
  const history = { evaluations: measured, rewardCurve, range: rangeOf(session) };
  const final = finalConditions(state, session.config).map((condition) => ({
    ...condition,
    step: finalStep ?? finishedStep,
    policy: null,
  }));
  return emitted(session.emit, [...diagnoseEvaluation(history), ...final]);
}

/** What the verdict of a finished run does not show; nothing before its end. */
export function finalConditions(
  { before, after, finalStep, finishedStep, evaluations }: RunState,
  { tasks, reward }: Pick<ResolvedConfig, 'tasks' | 'reward'>,
): readonly FinalCondition[] {
  if (before === null || after === null) return [];
  return diagnoseFinal({
    before,
    after,
    finalStep: finalStep ?? finishedStep,
    evaluations: tasks.validation === null ? evaluations : [],
    weights: reward.choice?.rewardWeights,
  });
}

/** Emits a warning of the tasks that the curriculum sets aside from now on. */
export function warnOfUnsolved(
  { emit }: Pick<TrainingSession, 'emit'>,
  { step, tasks }: { readonly step: number; readonly tasks: readonly UnsolvedTask[] },
): readonly RunWarning[] {
  if (tasks.length === 0) return [];
  const listed = tasks.slice(0, maxListed).map(unsolvedText);
  const more = tasks.length > maxListed ? `, and ${tasks.length - maxListed} more` : '';
  const message = `the curriculum sets ${quantityText(tasks.length, 'task')} aside that no rollout has solved: ${listed.join(', ')}${more}`;
  return emitted(emit, [{ name: 'unsolved-tasks', step, policy: null, message }]);
}

/** Maximum number of tasks that a warning lists; the summary has all. */
const maxListed = 8;

/** A task by its index, with rollouts that show it. */
export function unsolvedText({ task, rollouts, examples }: UnsolvedTask): string {
  return `task ${task} in ${quantityText(rollouts, 'rollout')} (${examples.join(', ')})`;
}

/** Emits warnings. */
export function emitted(emit: TrainingListener, warnings: readonly RunWarning[]): readonly RunWarning[] {
  for (const warning of warnings) {
    const condition = { ...warning, ...warningExplanations[warning.name] };
    emit({ type: 'warning', message: warningText(warning), condition });
  }
  return warnings;
}

function rangeOf({ config }: Pick<TrainingSession, 'config'>): readonly [low: number, high: number] {
  return config.reward.range ?? [0, 1];
}
