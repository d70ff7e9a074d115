import { seededRandom, shuffled } from '../packages/algorithms/src/seeded-random.ts';
import { median } from './middle.ts';

/** 4 MB: more than a core's own caches hold, less than the cache that cores share. */
const byteCount = 4 * 1024 * 1024;
const integersPerLine = 16;
const lineCount = byteCount / 4 / integersPerLine;

/** Each line holds where the next one is, in an order that no prefetcher guesses. */
const chain = randomCycle();

/**
 * How long a read takes, in nanoseconds, that waits for the read before it, within 4 MB: some 25 where the cache that
 * cores share is ours, some 100 where neighbours on a shared machine have filled it and every such read goes to memory.
 * The median of several walks, after some that are for the compiler. Takes 0.1 s.
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
  if (at !== 0) throw new Error(`the walk over ${lineCount} lines ended at ${at}, not where it began`);
  return took / lineCount;
}

function randomCycle(): Int32Array {
  const lines = Array.from({ length: lineCount }, (_, line) => line * integersPerLine);
  const order = shuffled(lines, seededRandom(1));
  const next = new Int32Array(byteCount / 4);
  for (const [position, line] of order.entries()) next[line] = order[(position + 1) % lineCount] ?? 0;
  return next;
}
