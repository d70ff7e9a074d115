import { cpus } from 'node:os';
import { memoryLatencyNs } from './memory-latency.ts';

/** One figure of a benchmark and its target. */
export interface BenchmarkResult {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The bound as text, such as `>= 0.8`; null for figures without a target. */
  readonly target: string | null;
  readonly met: boolean;
}

/** The machine of a benchmark. */
interface Machine {
  readonly processor: string;
  /** Number of processors. */
  readonly count: number;
  readonly node: string;
  /** Latency of a dependent read within 4 MB, in nanoseconds. */
  readonly readNsBefore: number;
  readonly readNsAfter: number;
}

/** The target of a figure; null for none. */
export type Bound = { readonly atLeast: number } | { readonly atMost: number } | null;

/** A result with its target. */
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

/** Measured at the start: other load may change until the end. */
const readNsBefore = memoryLatencyNs();

/**
 * Prints the table, the machine and the JSON line; the exit code is 1 if a target is missed. Figures depend on the
 * processor, and on other load in its caches.
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

/** Prints the elapsed time and the current part of a benchmark. */
export function progress(part: string): void {
  const seconds = Math.round(performance.now() / 1000);
  console.log(`${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} ${part}`);
}
