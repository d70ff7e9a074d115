/** One measured number of a benchmark, and whether it is what it should be. */
export interface BenchmarkResult {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** As people say it: `>= 0.8`; null when the number is only told. */
  readonly target: string | null;
  readonly met: boolean;
}

/** A comparison with a bound, such as at least or at most. */
export type Bound = { readonly atLeast: number } | { readonly atMost: number } | null;

/** A result whose target is a bound. */
export function result(
  name: string,
  measured: { readonly value: number; readonly unit: string },
  bound: Bound,
): BenchmarkResult {
  if (bound === null) return { name, ...measured, target: null, met: true };
  if ('atLeast' in bound)
    return { name, ...measured, target: `>= ${bound.atLeast}`, met: measured.value >= bound.atLeast };
  return { name, ...measured, target: `<= ${bound.atMost}`, met: measured.value <= bound.atMost };
}

/** Prints a table and the JSON line; the exit code says whether every target was met. */
export function report(benchmark: string, results: readonly BenchmarkResult[]): void {
  console.table(
    results.map(({ name, value, unit, target, met }) => ({
      name,
      value: Number(value.toPrecision(4)),
      unit,
      target: target ?? '',
      met: target === null ? '' : met ? 'yes' : 'NO',
    })),
  );
  console.log(JSON.stringify({ benchmark, results }));
  process.exitCode = results.every(({ met }) => met) ? 0 : 1;
}

/** Between which values the middle half of them is. */
export function quartiles(values: readonly number[]): readonly [lower: number, upper: number] {
  const sorted = [...values].sort((left, right) => left - right);
  const half = Math.floor(sorted.length / 2);
  return [median(sorted.slice(0, half)), median(sorted.slice(-half))];
}

/** The middle value; of an even number of values, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[sorted.length / 2 - 1] ?? Number.NaN)) / 2;
}
