import {
  type OutputOptions,
  partSettings,
  type ScoredPart,
  selectOutput,
  shown,
  textOf,
  verdict,
} from '../base/part.ts';

/** How texts are compared. */
export interface TextComparison {
  /** Ignore leading and trailing whitespace, and compare whitespace within by single spaces. @default true */
  readonly trim?: boolean;
  /** Compare case. @default false */
  readonly caseSensitive?: boolean;
  /** The Unicode normalisation form; false compares code units. @default 'NFKC' */
  readonly normalize?: 'NFC' | 'NFKC' | false;
}

/** Options of {@link exact}. */
export type ExactOptions<TOutput = unknown> = OutputOptions<TOutput> & TextComparison;

/** A text in its compared form. */
export function comparable(
  text: string,
  { trim = true, caseSensitive = false, normalize = 'NFKC' }: TextComparison,
): string {
  const composed = normalize === false ? text : text.normalize(normalize);
  const trimmed = trim ? composed.trim().replaceAll(/\s+/g, ' ') : composed;
  return caseSensitive ? trimmed : trimmed.toLowerCase();
}

/**
 * 1 if the output is the expected text, else 0.
 *
 * @example
 * ```ts
 * exact((task: { answer: string }) => task.answer);
 * ```
 */
export function exact<TTask, TOutput = unknown>(
  expected: (task: TTask) => unknown,
  options: ExactOptions<TOutput> = {},
): ScoredPart<TTask, TOutput> {
  return {
    ...partSettings(options),
    score: async ({ task, output }) => {
      const wanted = textOf(expected(task));
      const given = textOf(selectOutput(output, options.output));
      const isRight = comparable(given, options) === comparable(wanted, options);
      return verdict(isRight, isRight ? `is ${shown(wanted)}` : `expected ${shown(wanted)}, got ${shown(given)}`);
    },
  };
}
