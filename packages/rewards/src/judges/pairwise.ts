import type { ReasonedScore } from '@agentlightning/core/algorithm';
import { type GroupPart, invalidOption, type ScoredOutput, type ScoredPart } from '../base/part.ts';
import { type Judge, judgeOf } from './judge.ts';
import { judgePrompts } from './judge-prompts.ts';
import { field, invalidVerdict, type JudgingOptions, judgedOutput, judgingSettings, promptOf } from './judging.ts';

/** Options of {@link pairwise} among siblings. */
export interface SiblingComparisonOptions<TTask = unknown, TOutput = unknown> extends JudgingOptions<TTask, TOutput> {
  /** The siblings that each output is compared with; the fewer, the cheaper. @default 4 */
  readonly opponents?: number;
}

/** Options of {@link pairwise} against a reference. */
export interface ReferenceComparisonOptions<TTask = unknown, TOutput = unknown> extends JudgingOptions<TTask, TOutput> {
  /** The answer that the output is compared with. */
  readonly reference: (task: TTask) => unknown;
}

/**
 * Compares outputs by a judge, each pair in both orders: 1 for a win in both, 0 for two defeats, 0.5 for ties and verdicts that
 * depend on the order. With `reference` the output is compared with that answer, without it with siblings of its group, and
 * the score is the mean.
 *
 * @example
 * ```ts
 * pairwise({ judge, reference: (task: { best: string }) => task.best });
 * ```
 */
export function pairwise<TTask = unknown, TOutput = unknown>(
  options: ReferenceComparisonOptions<TTask, TOutput>,
): ScoredPart<TTask, TOutput>;
/** Compares each output with siblings of its group; the score is the mean. */
export function pairwise<TTask = unknown, TOutput = unknown>(
  options: SiblingComparisonOptions<TTask, TOutput>,
): GroupPart<TTask, TOutput>;
export function pairwise<TTask, TOutput>(
  options: ReferenceComparisonOptions<TTask, TOutput> | SiblingComparisonOptions<TTask, TOutput>,
): ScoredPart<TTask, TOutput> | GroupPart<TTask, TOutput> {
  const judge = judgeOf(options.judge);
  const suffix = `(${judgePrompts.pairwise.version}, ${judge.model})`;
  if ('reference' in options) {
    return {
      ...judgingSettings('pairwise', options, judge),
      score: async (input) => {
        const outputs = [judgedOutput(input.output, options), options.reference(input.task)] as const;
        const { score, reason } = await compare(judge, { input, outputs, options });
        return { score, reason: `${reason} ${suffix}` };
      },
    };
  }
  const { opponents = 4 } = options;
  if (!(Number.isInteger(opponents) && opponents > 0))
    throw invalidOption('opponents', opponents, 'a positive integer');
  return {
    ...judgingSettings('pairwise', options, judge),
    scoreGroup: async (siblings) => {
      const results = siblings.map((): number[] => []);
      await Promise.all(
        pairs(siblings.length, opponents).map(async ([left, right]) => {
          const [one, other] = [siblings[left], siblings[right]];
          if (one === undefined || other === undefined) return;
          const outputs = [judgedOutput(one.output, options), judgedOutput(other.output, options)] as const;
          const { score } = await compare(judge, { input: one, outputs, options });
          results[left]?.push(score);
          results[right]?.push(1 - score);
        }),
      );
      return results.map((scores): ReasonedScore => {
        if (scores.length === 0) return { score: null, reason: 'no sibling to compare with' };
        const sum = scores.reduce((total, score) => total + score, 0);
        return { score: sum / scores.length, reason: `${sum} of ${scores.length} comparisons ${suffix}` };
      });
    },
  };
}

/** Pairs of siblings on a ring, so that each has about the same number of opponents. */
function pairs(count: number, opponents: number): readonly (readonly [number, number])[] {
  const found = new Map<string, readonly [number, number]>();
  for (let left = 0; left < count; left += 1) {
    for (let step = 1; step <= Math.max(1, Math.ceil(opponents / 2)) && step < count; step += 1) {
      const right = (left + step) % count;
      const pair = [Math.min(left, right), Math.max(left, right)] as const;
      found.set(pair.join(), pair);
    }
  }
  return [...found.values()];
}

interface Comparison<TTask, TOutput> {
  readonly input: ScoredOutput<TTask, TOutput>;
  readonly outputs: readonly [first: unknown, second: unknown];
  readonly options: JudgingOptions<TTask, TOutput>;
}

/** The score of the first output, by both orders. */
async function compare<TTask, TOutput>(
  judge: Judge,
  { input, outputs: [first, second], options }: Comparison<TTask, TOutput>,
): Promise<{ readonly score: number; readonly reason: string }> {
  if (JSON.stringify(first) === JSON.stringify(second)) return { score: 0.5, reason: 'the outputs are equal' };
  const ask = (A: unknown, B: unknown): Promise<{ readonly winner: string; readonly reason: string }> =>
    judge.ask(
      promptOf('pairwise', input, { ...options, material: { outputs: { A, B } } }),
      (json) => {
        const winner = field(json, 'winner');
        if (winner !== 'A' && winner !== 'B' && winner !== 'tie') throw invalidVerdict('`winner` is not A, B or tie');
        return { winner, reason: String(field(json, 'reason')) };
      },
      input,
    );
  const [forward, backward] = await Promise.all([ask(first, second), ask(second, first)]);
  const points = { A: 1, tie: 0.5, B: 0 } as Readonly<Record<string, number>>;
  const score = ((points[forward.winner] ?? 0) + 1 - (points[backward.winner] ?? 0)) / 2;
  return {
    score,
    reason: forward.reason === backward.reason ? forward.reason : `${forward.reason} / ${backward.reason}`,
  };
}
