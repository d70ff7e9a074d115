import {
  invalidOption,
  type OutputOptions,
  partSettings,
  type ScoredPart,
  selectOutput,
  shown,
  textOf,
  verdict,
} from '../base/part.ts';
import { comparable, type ExactOptions } from './exact.ts';

/**
 * 1 if the output is one of the accepted texts, else 0.
 *
 * @example
 * ```ts
 * oneOf((task: { answers: string[] }) => task.answers);
 * ```
 */
export function oneOf<TTask, TOutput = unknown>(
  accepted: readonly unknown[] | ((task: TTask) => readonly unknown[]),
  options: ExactOptions<TOutput> = {},
): ScoredPart<TTask, TOutput> {
  return {
    ...partSettings(options),
    score: async ({ task, output }) => {
      const values = typeof accepted === 'function' ? accepted(task) : accepted;
      const given = textOf(selectOutput(output, options.output));
      const compared = comparable(given, options);
      const match = values.find((value) => comparable(textOf(value), options) === compared);
      return verdict(
        match !== undefined,
        match === undefined ? `expected one of ${shown(values)}, got ${shown(given)}` : `is ${shown(match)}`,
      );
    },
  };
}

/**
 * 1 if the output matches a regular expression, else 0.
 *
 * @example
 * ```ts
 * pattern(/^\d{4}-\d{2}-\d{2}$/);
 * ```
 *
 * @throws AgentLightningError CONFIG for anything else than a regular expression or a function
 */
export function pattern<TTask, TOutput = unknown>(
  expression: RegExp | ((task: TTask) => RegExp),
  options: OutputOptions<TOutput> = {},
): ScoredPart<TTask, TOutput> {
  if (!(expression instanceof RegExp) && typeof expression !== 'function') {
    throw invalidOption('expression', expression, 'a regular expression');
  }
  return {
    ...partSettings(options),
    score: async ({ task, output }) => {
      const given = expression instanceof RegExp ? expression : expression(task);
      // Without state between calls.
      const stateless = new RegExp(given.source, given.flags.replaceAll(/[gy]/g, ''));
      const isRight = stateless.test(textOf(selectOutput(output, options.output)));
      return verdict(isRight, `${isRight ? 'matches' : 'does not match'} ${stateless}`);
    },
  };
}

/** Options of {@link length}. */
export interface LengthOptions<TOutput = unknown> extends OutputOptions<TOutput> {
  /** The smallest length. @default 0 */
  readonly min?: number;
  /** The largest length. @default unlimited */
  readonly max?: number;
  /** What is counted. @default 'characters' */
  readonly unit?: 'characters' | 'words';
}

/**
 * 1 if the length of the output is within its bounds, else 0.
 *
 * @throws AgentLightningError CONFIG without a bound, or for bounds in the wrong order
 */
export function length<TTask, TOutput = unknown>(options: LengthOptions<TOutput>): ScoredPart<TTask, TOutput> {
  const { min = 0, max = Number.POSITIVE_INFINITY, unit = 'characters' } = options;
  if (options.min === undefined && options.max === undefined) throw invalidOption('max', undefined, '`min` or `max`');
  if (!(min <= max)) throw invalidOption('max', max, 'a number of at least `min`');
  return {
    ...partSettings(options),
    score: async ({ output }) => {
      const text = textOf(selectOutput(output, options.output));
      const count = unit === 'words' ? words(text).length : [...text].length;
      return verdict(count >= min && count <= max, `${count} ${unit}, allowed are ${min} to ${max}`);
    },
  };
}

/** Options of {@link repetition}. */
export interface RepetitionOptions<TOutput = unknown> extends OutputOptions<TOutput> {
  /** The number of consecutive words that count as a repetition. @default 3 */
  readonly words?: number;
  /** The share of repetitions that is accepted. @default 0.2 */
  readonly max?: number;
}

/** 1 if at most `max` of the sequences of words repeat an earlier one; above, 1 minus their share. */
export function repetition<TTask, TOutput = unknown>(
  options: RepetitionOptions<TOutput> = {},
): ScoredPart<TTask, TOutput> {
  const { words: size = 3, max = 0.2 } = options;
  if (!(Number.isInteger(size) && size > 0)) throw invalidOption('words', size, 'a positive integer');
  return {
    ...partSettings(options),
    score: async ({ output }) => {
      const list = words(textOf(selectOutput(output, options.output)));
      const sequences = list.slice(size - 1).map((_, index) => list.slice(index, index + size).join(' '));
      const share = sequences.length === 0 ? 0 : 1 - new Set(sequences).size / sequences.length;
      return {
        score: share <= max ? 1 : 1 - share,
        reason: `${Math.round(share * 100)} % of the sequences of ${size} words are repetitions`,
      };
    },
  };
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });

/** The words of a text in lower case, also of languages without spaces. */
function words(text: string): readonly string[] {
  return [...segmenter.segment(text.toLowerCase())].flatMap(({ segment, isWordLike }) => (isWordLike ? [segment] : []));
}

/** Options of {@link citations}. */
export interface CitationOptions<TTask, TOutput = unknown> extends OutputOptions<TOutput> {
  /** The sources as texts, or by their ids. */
  readonly sources: (task: TTask) => readonly string[] | Readonly<Record<string, string>>;
  /** Reads the quoted passages. @default passages of 15 characters and more in quotation marks */
  readonly quotes?: (output: TOutput) => readonly string[];
  /** Reads the cited ids. @default those in square brackets, where the sources have ids */
  readonly ids?: (output: TOutput) => readonly string[];
}

/** The share of the output's citations that occur in the sources; 0 without a citation. */
export function citations<TTask, TOutput = unknown>(
  options: CitationOptions<TTask, TOutput>,
): ScoredPart<TTask, TOutput> {
  return {
    ...partSettings(options),
    score: async ({ task, output }) => {
      const sources = options.sources(task);
      const text = textOf(selectOutput(output, options.output));
      const quotes = options.quotes?.(output) ?? quotedPassages(text);
      const cited = options.ids?.(output) ?? (Array.isArray(sources) ? [] : bracketedIds(text));
      const passages = Object.values(sources).map((source) => comparable(source, {}));
      const invented = [
        ...quotes.filter((quote) => !passages.some((passage) => passage.includes(comparable(quote, {})))),
        ...cited.filter((id) => !Object.hasOwn(sources, id)),
      ];
      const count = quotes.length + cited.length;
      if (count === 0) return verdict(false, 'no citation');
      return {
        score: 1 - invented.length / count,
        reason: invented.length === 0 ? `${count} citations occur` : `not in the sources: ${shown(invented)}`,
      };
    },
  };
}

function quotedPassages(text: string): readonly string[] {
  return [...text.matchAll(/"([^"\n]{15,})"|\u201c([^\u201d\n]{15,})\u201d|\u00ab([^\u00bb\n]{15,})\u00bb/g)].map(
    ([, straight, curly, angle]) => straight ?? curly ?? angle ?? '',
  );
}

function bracketedIds(text: string): readonly string[] {
  return [...text.matchAll(/\[([^[\]\n]+)\](?!\()/g)].flatMap(([, ids = '']) => ids.split(/[,;]\s*/));
}
