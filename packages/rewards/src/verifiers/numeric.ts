import type { ReasonedScore } from '@agentlightning/core/algorithm';
import { importOptional } from '../base/optional-package.ts';
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

/** Options of {@link numeric}. */
export interface NumericOptions<TOutput = unknown> extends OutputOptions<TOutput> {
  /** The largest absolute difference. @default 0 */
  readonly absolute?: number;
  /** The largest difference, as a share of the expected number. @default 1e-6 */
  readonly relative?: number;
  /** Which number of a text counts. @default 'last' */
  readonly pick?: 'first' | 'last';
  /** Compares quantities in this unit, such as `km/h`; it needs the package `mathjs`. @default none */
  readonly unit?: string;
}

const number = '[-+\u2212]?(?:\\d{1,3}(?:,\\d{3})+(?!\\d)|\\d+)?(?:\\.?\\d+)(?:[eE][-+]?\\d+)?';
const unitText = '[a-zA-Z\u00b0\u00b5%$][a-zA-Z\u00b0\u00b5%/^*\\d-]*';

/** What is used of mathjs. */
interface MathModule {
  unit(value: number, unit: string): { toNumber(unit: string): number };
}

/**
 * 1 if the number in the output is the expected one within the tolerance, else 0. A text with several numbers counts by its
 * last one.
 *
 * @example
 * ```ts
 * numeric((task: { total: number }) => task.total, { absolute: 0.005 });
 * numeric((task: { speed: string }) => task.speed, { unit: 'km/h' }); // "25 m/s" is 90 km/h
 * ```
 *
 * @throws AgentLightningError CONFIG for a tolerance that is not a number of at least 0
 */
export function numeric<TTask, TOutput = unknown>(
  expected: (task: TTask) => number | string,
  options: NumericOptions<TOutput> = {},
): ScoredPart<TTask, TOutput> {
  const { absolute = 0, relative = 1e-6 } = options;
  for (const [name, value] of Object.entries({ absolute, relative })) {
    if (!(value >= 0)) throw invalidOption(name, value, 'a number of at least 0');
  }
  return {
    ...partSettings(options),
    score: async ({ task, output }) => {
      const math =
        options.unit === undefined
          ? null
          : await importOptional<MathModule>('mathjs', 'numeric with `unit`', () => import('mathjs'));
      const given = quantityIn(textOf(selectOutput(output, options.output)), options, math);
      const wantedValue = expected(task);
      const wanted = quantityIn(String(wantedValue), { ...options, isUnitOptional: true }, math);
      if (wanted === null) throw invalidOption('expected', wantedValue, 'a number, or a text with one');
      return compare(given, wanted, Math.max(absolute, relative * Math.abs(wanted)));
    },
  };
}

function compare(given: number | null, wanted: number, tolerance: number): ReasonedScore {
  if (given === null) return verdict(false, `expected ${wanted}, found no number`);
  const isRight = Math.abs(given - wanted) <= tolerance;
  return verdict(isRight, isRight ? `is ${wanted}` : `expected ${wanted}, got ${shown(given)}`);
}

interface Extraction extends Pick<NumericOptions, 'pick' | 'unit'> {
  /** Whether a number without a unit is one of the unit. */
  readonly isUnitOptional?: boolean;
}

/** The number of a text, in the unit if there is one; null without. */
function quantityIn(text: string, { pick, unit, isUnitOptional }: Extraction, math: MathModule | null): number | null {
  const quantities = [...text.matchAll(new RegExp(`(${number})\\s*(${unitText})?`, 'g'))].flatMap(
    ([, digits, written]) => {
      const value = Number((digits ?? '').replaceAll(',', '').replace('\u2212', '-'));
      if (math === null || unit === undefined) return [value];
      if (written === undefined) return isUnitOptional ? [value] : [];
      const converted = convert(math, [value, written], unit);
      return converted === null ? [] : [converted];
    },
  );
  return quantities.at(pick === 'first' ? 0 : -1) ?? null;
}

function convert(math: MathModule, [value, written]: readonly [number, string], unit: string): number | null {
  try {
    return math.unit(value, written).toNumber(unit);
  } catch {
    // The text after the number is not a unit of this dimension.
    return null;
  }
}
