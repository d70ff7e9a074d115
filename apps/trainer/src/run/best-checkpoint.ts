import type { RunState, SavedStep } from './run-state.ts';

/**
 * The saved checkpoint with the highest reward in the evaluations of trained weights, the last of equal ones, which has
 * trained longest; null when none is saved.
 */
export function bestCheckpoint({
  checkpoints,
  evaluations,
}: Pick<RunState, 'checkpoints' | 'evaluations'>): SavedStep | null {
  const [best] = evaluations
    .filter(({ step }) => step > 0)
    .toSorted((one, other) => other.summary.reward - one.summary.reward || other.step - one.step)
    .flatMap(({ step }) => checkpoints.find((saved) => saved.step === step) ?? []);
  return best ?? null;
}

/** The evaluations of a run in order of steps, with the final one if its step has no other. */
export function allEvaluations({
  evaluations,
  after,
  finalStep,
  finishedStep,
}: Pick<RunState, 'evaluations' | 'after' | 'finalStep' | 'finishedStep'>): RunState['evaluations'] {
  const step = finalStep ?? finishedStep;
  if (after === null || evaluations.some((evaluation) => evaluation.step === step)) return evaluations;
  const { reward, ci95, rollouts, failed, missing } = after;
  return [...evaluations, { step, summary: { reward, ci95, rollouts, failed, missing } }];
}
