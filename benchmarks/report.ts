import { memoryLatencyNs } from './memory-latency.ts';

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

/** Taken as the benchmark begins: by its end the machine may be another. */
const latencyBeforeNs = memoryLatencyNs();

/**
 * Prints a table and the JSON line, with how slow the machine's memory was before and after; the exit code says whether
 * every target was met.
 */
export function report(benchmark: string, measured: readonly BenchmarkResult[]): void {
  const results = [...measured, ...machineResults()];
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

function machineResults(): BenchmarkResult[] {
  return [
    result('the machine before: a read within 4 MB', { value: latencyBeforeNs, unit: 'ns' }, null),
    result('the machine after: a read within 4 MB', { value: memoryLatencyNs(), unit: 'ns' }, null),
  ];
}
