/**
 * `pnpm bench store`: spans and claims per second over HTTP, acknowledged when durable; latency of every call; memory; and
 * the effect of the store's size. The server runs in a separate process, the load in this one. Compared in the same run with
 * the bare database, and with the Python package's server if Python is installed.
 *
 * @module
 */
import { loadavg } from 'node:os';
import path from 'node:path';
import { startPostgres } from '@agentlightning/store/testing';
import { installExtra } from '../../tools/extras/extras.ts';
import { parseFlags } from '../flags.ts';
import { type BenchmarkResult, progress, report } from '../report.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { measureCalls } from './calls.ts';
import { measurePython } from './python.ts';
import { measureSizes } from './sizes.ts';
import { measureBare, measureThroughput } from './throughput.ts';

const flags = parseFlags({
  /** Numbers of rollouts of the compared stores, the smallest first. */
  sizes: '1000,100000',
  /** PostgreSQL too, and all sizes, up to a million rollouts with ten million spans: minutes more, 5 GB of disk. */
  full: false,
  /** A Python with the package `agentlightning`; installed as for the interop tests by default. */
  python: null,
  /** Measures PostgreSQL too. */
  postgres: false,
  /** Measures only the sizes. */
  'only-sizes': false,
});
const sizes = (flags.full ? '1000,100000,1000000' : flags.sizes).split(',').map(Number);
console.log(
  `Load of the machine before: ${loadavg()
    .map((load) => load.toFixed(1))
    .join(', ')}`,
);
using temporary = temporaryFolder();
const folder = temporary.path;
const results: BenchmarkResult[] = [];
if (!flags['only-sizes']) {
  const sqlite = await measureThroughput({
    name: 'SQLite',
    locationOf: (round) => path.join(folder, `round-${round}.db`),
    compare: (round) => measureBare(folder, round),
    share: 1,
    claimsTarget: 2000,
  });
  add(sqlite.results);
  progress('Python: installed if need be, then the same load');
  add(await measurePython(flags.python ?? undefined, sqlite.throughput));
  progress('every call, one after another');
  add(await measureCalls(path.join(folder, 'calls.db')));
}
if ((flags.postgres || flags.full) && !flags['only-sizes']) {
  progress('PostgreSQL: started');
  await installExtra('postgresql');
  await using postgres = await startPostgres({ isDurable: true });
  const measured = await measureThroughput({
    name: 'PostgreSQL',
    locationOf: () => postgres.createDatabase(),
    share: 0.2,
    claimsTarget: null,
  });
  add(measured.results);
}
progress(`stores of ${sizes.join(', ')} rollouts`);
add(await measureSizes(folder, sizes));
progress('done');
report('store', results);

/** Collects results for the final table and prints each at once: a run takes minutes. */
function add(measured: readonly BenchmarkResult[]): void {
  results.push(...measured);
  for (const { name, value, unit, target, met } of measured) {
    const verdict = target === null ? '' : met ? ` (${target}: met)` : ` (${target}: NOT met)`;
    console.log(`  ${name}: ${Number(value.toPrecision(4))} ${unit}${verdict}`);
  }
}
