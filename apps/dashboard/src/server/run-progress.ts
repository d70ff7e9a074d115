import type { EvaluationSummary, RunProgress } from '@agentlightning/core/protocol';
import type { EvaluationView, WarningView } from '../api/run-views.ts';

/** Cause and remedy of a warning, by its name. */
export type WarningExplanations = Readonly<Record<string, { readonly cause: string; readonly remedy: string }>>;

/** The warnings of a run with their explanations, as far as known. */
export function warningViews({ warnings }: RunProgress, explanations: WarningExplanations): readonly WarningView[] {
  return warnings.map((warning) => {
    const { cause = null, remedy = null } = Object.hasOwn(explanations, warning.name)
      ? (explanations[warning.name] ?? {})
      : {};
    return { ...warning, cause, remedy };
  });
}

/** All evaluations of a run, in order. */
export function evaluationViews({ finishedStep, before, after, evaluations }: RunProgress): readonly EvaluationView[] {
  return [
    ...(before === null ? [] : [evaluationView(0, before)]),
    ...evaluations.map(({ step, summary }) => evaluationView(step, summary)),
    ...(after === null ? [] : [evaluationView(finishedStep, after)]),
  ];
}

function evaluationView(step: number, { reward, ci95, rollouts, missing }: EvaluationSummary): EvaluationView {
  const [low, high] = ci95;
  return { step, reward, low, high, rollouts, missing };
}
