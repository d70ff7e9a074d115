import { invalidOption, type ScoredPart, shown } from '../base/part.ts';
import { judgeOf } from './judge.ts';
import { judgePrompts } from './judge-prompts.ts';
import { field, type JudgingOptions, judgedOutput, judgingSettings, namedScores, promptOf } from './judging.ts';

/** A criterion of a {@link rubric}. */
export type Criterion = string | { readonly description: string; readonly weight?: number };

/** Options of {@link rubric}. */
export interface RubricOptions<TTask = unknown, TOutput = unknown> extends JudgingOptions<TTask, TOutput> {
  /** The criteria by name. The score is their mean, by weight. */
  readonly criteria: Readonly<Record<string, Criterion>>;
  /** A reference answer for the judge. @default none */
  readonly reference?: (task: TTask) => unknown;
}

/**
 * The mean score that a judge gives by criteria, with the reason for each.
 *
 * @example
 * ```ts
 * rubric({
 *   judge: { baseUrl: 'https://api.openai.com/v1', model: 'gpt-5-mini', apiKey: env('OPENAI_API_KEY') },
 *   criteria: { answered: 'It answers the question.', polite: { description: 'It is polite.', weight: 0.2 } },
 * });
 * ```
 *
 * @throws AgentLightningError CONFIG without a criterion, or for a weight that is not positive
 */
export function rubric<TTask = unknown, TOutput = unknown>(
  options: RubricOptions<TTask, TOutput>,
): ScoredPart<TTask, TOutput> {
  const criteria = Object.entries(options.criteria).map(([name, criterion]) => ({
    name,
    weight: 1,
    ...(typeof criterion === 'string' ? { description: criterion } : criterion),
  }));
  const total = criteria.reduce((sum, { weight }) => sum + weight, 0);
  if (criteria.some(({ weight }) => !(weight > 0)) || criteria.length === 0) {
    throw invalidOption('criteria', options.criteria, 'at least one criterion, with positive weights');
  }
  const judge = judgeOf(options.judge);
  return {
    ...judgingSettings('rubric', options, judge),
    score: async (input) => {
      const material = {
        ...(options.reference === undefined ? {} : { reference: options.reference(input.task) }),
        criteria: criteria.map(({ name, description }) => ({ name, description })),
        output: judgedOutput(input.output, options),
      };
      const scores = await judge.ask(
        promptOf('rubric', input, { ...options, material }),
        (json) =>
          namedScores(field(json, 'criteria'), Object.keys(options.criteria), { name: 'name', reason: 'reason' }),
        input,
      );
      const sum = criteria.reduce((value, { name, weight }) => value + weight * (scores.get(name)?.score ?? 0), 0);
      const reasons = [...scores].map(([name, { score, reason }]) => `${name} ${shown(score)}: ${reason}`);
      return { score: sum / total, reason: `${reasons.join('; ')} (${judgePrompts.rubric.version}, ${judge.model})` };
    },
  };
}
