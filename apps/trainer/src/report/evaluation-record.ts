import { addressText } from '@agentlightning/core/internal';
import type { EvaluatedSubject, EvaluationComparison, EvaluationReport } from '../evaluation-run/evaluation-report.ts';

/** The last line of `agl eval --json`. Field names are snake_case. */
export function evaluationRecord(report: EvaluationReport): object {
  const { runId, tasks, samples, of, against, comparison, isDecided, maxMissingShare, seconds, storeUrl } = report;
  return {
    event: 'done',
    run: runId,
    tasks,
    samples,
    of: subjectRecord(of),
    against: against === null ? null : subjectRecord(against),
    comparison: comparison === null ? null : comparisonRecord(comparison),
    decided: isDecided,
    max_missing_share: maxMissingShare,
    seconds,
    store: addressText(storeUrl),
  };
}

/** The rewards of an evaluated model or set of prompts. */
export function subjectRecord(subject: EvaluatedSubject): object {
  const { missingShare, ...fields } = subject;
  return { ...fields, missing_share: missingShare };
}

function comparisonRecord({ pValue, missingShare, gains, losses, ...fields }: EvaluationComparison): object {
  const record = ({ rolloutOf, rolloutAgainst, ...task }: EvaluationComparison['gains'][number]): object => ({
    ...task,
    rollout_of: rolloutOf,
    rollout_against: rolloutAgainst,
  });
  return {
    ...fields,
    p_value: pValue,
    missing_share: missingShare,
    gains: gains.map(record),
    losses: losses.map(record),
  };
}
