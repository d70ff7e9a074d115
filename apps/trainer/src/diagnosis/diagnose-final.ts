import type { EvaluationSummary, WarningName } from '@agentlightning/core/protocol';
import type { StoredEvaluation } from '../run/stored-evaluation.ts';
import { judgeImprovement } from './verdict.ts';

/** The evaluations that the verdict of a finished run depends on. */
export interface FinalEvaluations {
  readonly before: StoredEvaluation;
  readonly after: StoredEvaluation;
  /** The step of the weights that `after` measures. */
  readonly finalStep: number;
  /** Evaluations of the same tasks during training. */
  readonly evaluations: readonly { readonly step: number; readonly summary: EvaluationSummary }[];
  /** Weights of the parts of the reward, by name. @default none */
  readonly weights?: Readonly<Record<string, number>> | undefined;
}

/** A condition that the verdict on the mean reward does not show. */
export interface FinalCondition {
  readonly name: Extract<WarningName, 'proxy-diverges' | 'non-stationary-reward'>;
  readonly message: string;
}

/** The conditions that put the verdict of a finished run into question. */
export function diagnoseFinal(evaluations: FinalEvaluations): readonly FinalCondition[] {
  const falls = fallingParts(evaluations);
  const moved = movedMeasurement(evaluations);
  return [
    ...(falls === null ? [] : [{ name: 'proxy-diverges' as const, message: falls }]),
    ...(moved === null ? [] : [{ name: 'non-stationary-reward' as const, message: moved }]),
  ];
}

/** The parts of the reward that fell significantly, except those that the reward penalises. */
function fallingParts({ before, after, weights = {} }: FinalEvaluations): string | null {
  const shared = Object.keys(after.parts ?? {}).filter((name) => Object.hasOwn(before.parts ?? {}, name));
  const texts = shared.flatMap((name) => {
    if ((Object.hasOwn(weights, name) ? (weights[name] ?? 0) : 0) < 0) return [];
    const partOf = ({ parts, rolloutsPerTask }: StoredEvaluation) => ({
      rewards: parts?.[name] ?? [],
      rolloutsPerTask,
    });
    const { verdict, means } = judgeImprovement(partOf(before), partOf(after), 1);
    return verdict !== 'worse' || means === null
      ? []
      : [`\`${name}\` fell from ${means.before.toFixed(2)} to ${means.after.toFixed(2)}`];
  });
  return texts.length === 0
    ? null
    : `a part of the held-out reward is significantly lower than before: ${texts.join(', ')}`;
}

/** Two measurements of the same weights on the same tasks, whose confidence intervals have no value in common. */
function movedMeasurement({ before, after, finalStep, evaluations }: FinalEvaluations): string | null {
  const earlier = [{ step: 0, summary: before as EvaluationSummary }, ...evaluations].find(
    ({ step, summary: { ci95 } }) => step === finalStep && (ci95[1] < after.ci95[0] || after.ci95[1] < ci95[0]),
  );
  if (earlier === undefined) return null;
  return `the same weights, of step ${finalStep}, measured ${earlier.summary.reward.toFixed(2)} and then ${after.reward.toFixed(2)} on the same tasks`;
}
