import { AgentLightningError, type Run } from '@agentlightning/core';
import type { EvaluatedSubject, EvaluationReport } from './evaluation-report.ts';

/** The state of an evaluation, stored with its run. */
export interface EvaluationRunState {
  readonly kind: 'evaluation';
  /** The subject of the comparison; null until evaluated. */
  readonly before: EvaluatedSubject | null;
  /** The evaluated subject; null until evaluated. */
  readonly after: EvaluatedSubject | null;
  readonly comparison: EvaluationReport['comparison'];
}

/** The state of a new evaluation. */
export const initialEvaluationState: EvaluationRunState = {
  kind: 'evaluation',
  before: null,
  after: null,
  comparison: null,
};

/**
 * Evaluations are not resumed: the state of an existing one is not read.
 *
 * @throws AgentLightningError CONFIG
 */
export function readEvaluationState(run: Run): EvaluationRunState {
  throw new AgentLightningError({ code: 'CONFIG', message: `run ${run.runId} cannot be resumed as an evaluation` });
}
