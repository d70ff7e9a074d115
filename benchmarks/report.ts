import { cpus } from 'node:os';
import { memoryLatencyNs } from './memory-latency.ts';

/** One measured number of a benchmark, and whether it is what it should be. */
export interface BenchmarkResult {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The bound as text, such as `>= 0.8`; null for figures without a target. */
  readonly target: string | null;
  readonly met: boolean;
}

/** What a benchmark ran on. */
interface Machine {
  readonly processor: string;
  /** How many processors it has. */
  readonly count: number;
  readonly node: string;
  /** What a read within 4 MB takes that waits for the one before it. */
  readonly readNsBefore: number;
  readonly readNsAfter: number;
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
const readNsBefore = memoryLatencyNs();

/**
 * Prints a table, the machine and the JSON line; the exit code says whether every target was met. What a program takes
 * depends on the processor, and on who else uses its caches.
 */
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
  const machine = describeMachine();
  const { processor, count, node, readNsBefore, readNsAfter } = machine;
  console.log(`${count} x ${processor}, Node ${node}`);
  console.log(`a read within 4 MB: ${readNsBefore.toFixed(0)} ns before, ${readNsAfter.toFixed(0)} ns after`);
  console.log(JSON.stringify({ benchmark, machine, results }));
  process.exitCode = results.every(({ met }) => met) ? 0 : 1;
}

function describeMachine(): Machine {
  const processors = cpus();
  return {
    processor: processors[0]?.model.trim() ?? 'unknown',
    count: processors.length,
    node: process.versions.node,
    readNsBefore,
    readNsAfter: memoryLatencyNs(),
  };
}
