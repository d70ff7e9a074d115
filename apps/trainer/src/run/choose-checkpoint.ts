import { AgentLightningError } from '@agentlightning/core';
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

/**
 * Selects a saved checkpoint of a run.
 *
 * @param choice - `final`, the one that the run ended with, or the latest one of a run that has not ended; `latest`; `best`, the
 *   one with the highest reward in the evaluations during training, the last of equal ones; or the number of a step
 * @throws AgentLightningError NOT_FOUND when there is no such checkpoint; the remedy lists the saved ones
 */
export function chooseCheckpoint(state: RunState, choice: string): SavedStep {
  const { checkpoint, checkpoints, finalStep } = state;
  const saved = checkpoints.toSorted((one, other) => one.step - other.step);
  const atStep = (wanted: string): SavedStep | null => saved.find(({ step }) => String(step) === wanted) ?? null;
  const chosen = ((): SavedStep | null => {
    if (choice === 'final' && finalStep !== null) return atStep(String(finalStep));
    if (choice === 'final' || choice === 'latest') return checkpoint;
    return choice === 'best' ? bestCheckpoint({ checkpoints, evaluations: allEvaluations(state) }) : atStep(choice);
  })();
  if (chosen !== null) return chosen;
  throw new AgentLightningError({
    code: 'NOT_FOUND',
    message: `the run has no checkpoint "${choice}"`,
    remedy: `Use \`final\`, \`latest\`, \`best\`, or one of the saved steps: ${saved.map(({ step }) => step).join(', ') || 'none yet'}.`,
  });
}
