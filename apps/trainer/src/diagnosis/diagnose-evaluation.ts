import { type EvaluationSummary, type RunWarning, warningThresholds } from '@agentlightning/core/protocol';
import { mean } from '../events/mean.ts';

/** A held-out evaluation after a step. */
export interface EvaluationRecord {
  /** The last finished step. */
  readonly step: number;
  readonly summary: EvaluationSummary;
  /** Evaluations of other tasks are not comparable. @default the test tasks */
  readonly isValidation?: boolean;
}

/** The evaluations of a run and its training rewards. */
export interface EvaluationHistory {
  /** In order; the last one is diagnosed. */
  readonly evaluations: readonly EvaluationRecord[];
  /** Mean training reward of each finished step. */
  readonly rewardCurve: readonly number[];
  /** The lowest and the highest reward possible. */
  readonly range: readonly [low: number, high: number];
}

/** The warnings about the last evaluation whose conditions did not hold after the one before. */
export function diagnoseEvaluation(history: EvaluationHistory): readonly RunWarning[] {
  const last = history.evaluations.at(-1);
  if (last === undefined) return [];
  const fallText = heldOutFall(history);
  const isNew = heldOutFall({ ...history, evaluations: history.evaluations.slice(0, -1) }) === null;
  return [
    ...(fallText !== null && isNew
      ? [{ name: 'held-out-reward-falls' as const, step: last.step, policy: null, message: fallText }]
      : []),
    ...missingRewards(last),
  ];
}

function missingRewards({
  step,
  summary: { missing, rollouts },
  isValidation,
}: EvaluationRecord): readonly RunWarning[] {
  if (missing === 0) return [];
  const message = `${missing} of ${missing + rollouts} ${isValidation === true ? 'validation' : 'held-out'} rollouts have no reward and are excluded from the mean`;
  return [{ name: 'missing-rewards', step, policy: null, message }];
}

/** Whether the held-out reward is below its best while the training reward rose since then. */
function heldOutFall({ evaluations: measured, rewardCurve, range: [low, high] }: EvaluationHistory): string | null {
  const { heldOutDrop, steps } = warningThresholds;
  const last = measured.at(-1);
  if (last === undefined) return null;
  const evaluations = measured.filter(({ isValidation }) => isValidation === last.isValidation);
  const best = evaluations.reduce((top, each) => (each.summary.reward > top.summary.reward ? each : top), last);
  if (best.summary.reward - last.summary.reward <= heldOutDrop * (high - low)) return null;
  const then = meanAround(rewardCurve, best.step, steps);
  const now = meanAround(rewardCurve, last.step, steps);
  if (then === null || now === null || now <= then) return null;
  return (
    `the ${last.isValidation === true ? 'validation' : 'held-out'} reward fell from ${best.summary.reward.toFixed(3)} at step ${best.step} to ` +
    `${last.summary.reward.toFixed(3)}, while the training reward rose from ${then.toFixed(3)} to ${now.toFixed(3)}`
  );
}

/** The mean training reward of the steps up to one; at the start of the run, of the first steps. */
function meanAround(rewardCurve: readonly number[], step: number, count: number): number | null {
  const end = Math.max(step, Math.min(count, rewardCurve.length));
  return mean(rewardCurve.slice(Math.max(0, end - count), end));
}
