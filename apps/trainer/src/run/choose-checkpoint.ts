import { AgentLightningError } from '@agentlightning/core';
import type { RunState, SavedStep } from './run-state.ts';

/**
 * Selects a saved checkpoint of a run.
 *
 * @param choice - `latest`; `best`, the one with the highest held-out reward during training, the first of equal ones; or
 *   the number of a step
 * @throws AgentLightningError NOT_FOUND when there is no such checkpoint; the remedy lists the saved ones
 */
export function chooseCheckpoint(
  { checkpoint, checkpoints, evaluations, before, after, finishedStep }: RunState,
  choice: string,
): SavedStep {
  const saved = checkpoints.toSorted((one, other) => one.step - other.step);
  const chosen = ((): SavedStep | undefined => {
    if (choice === 'latest') return checkpoint ?? undefined;
    if (choice !== 'best') return saved.find(({ step }) => String(step) === choice);
    const measured = [
      ...(before === null ? [] : [{ step: 0, reward: before.reward }]),
      ...evaluations.map(({ step, summary }) => ({ step, reward: summary.reward })),
      ...(after === null ? [] : [{ step: finishedStep, reward: after.reward }]),
    ].toSorted((one, other) => other.reward - one.reward);
    return measured.flatMap(({ step }) => saved.find((each) => each.step === step) ?? [])[0];
  })();
  if (chosen !== undefined) return chosen;
  throw new AgentLightningError({
    code: 'NOT_FOUND',
    message: `the run has no checkpoint "${choice}"`,
    remedy: `Use \`latest\`, \`best\`, or one of the saved steps: ${saved.map(({ step }) => step).join(', ') || 'none yet'}.`,
  });
}
