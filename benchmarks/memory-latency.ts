import { seededRandom, shuffled } from '../packages/algorithms/src/base/seeded-random.ts';
import { median } from './statistics.ts';

/** 4 MB: larger than the private caches of a core, smaller than the shared cache. */
const byteCount = 4 * 1024 * 1024;
const integersPerLine = 16;
const lineCount = byteCount / 4 / integersPerLine;

/** Each cache line contains the index of the next, in random order, which defeats prefetching. */
const chain = randomCycle();

/**
 * Latency of a dependent read within 4 MB, in nanoseconds: about 25 from the shared cache, about 100 from memory when
 * other tenants use the cache. The median of several walks after warm-ups. Takes 0.1 s.
 */
export function memoryLatencyNs(): number {
  const walks = Array.from({ length: 15 }, walkNs);
  return median(walks.slice(5));
}

function walkNs(): number {
  const began = process.hrtime.bigint();
  let at = 0;
  for (let step = 0; step < lineCount; step += 1) at = chain[at] ?? 0;
  const took = Number(process.hrtime.bigint() - began);
  if (at !== 0) throw new Error(`the walk over ${lineCount} lines ended at ${at}, not at its start`);
  return took / lineCount;
}

function randomCycle(): Int32Array {
  const lines = Array.from({ length: lineCount }, (_, line) => line * integersPerLine);
  const order = shuffled(lines, seededRandom(1));
  const next = new Int32Array(byteCount / 4);
  for (const [position, line] of order.entries()) next[line] = order[(position + 1) % lineCount] ?? 0;
  return next;
}
