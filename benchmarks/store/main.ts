/**
 * `pnpm bench store`: spans and claims a second over HTTP, each acknowledged when it is durable; how long every call
 * takes; memory; and whether anything gets slower as the store grows. The server runs in a separate process, the
 * load in this one. What it is compared with is measured in the same run: the bare database, and the Python package's
 * server where there is a Python.
 *
 * @module
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { startPostgres } from '@agentlightning/store/testing';
import { type BenchmarkResult, report } from '../report.ts';
import { measureCalls } from './calls.ts';
import { progress } from './progress.ts';
import { measurePython } from './python-ratio.ts';
import { measureSizes } from './sizes.ts';
import { measureBare, measureThroughput } from './throughput.ts';

const { values: flags } = parseArgs({
  options: {
    /** How many rollouts the stores hold that are compared, the smallest first. */
    sizes: { type: 'string', default: '1000,100000' },
    /** PostgreSQL too, and all sizes, up to a million rollouts with ten million spans: minutes more, 5 GB of disk. */
    full: { type: 'boolean', default: false },
    /** The Python that has the package `agentlightning`, when it is not to be installed as for the interop tests. */
    python: { type: 'string' },
    /** Measures PostgreSQL too. */
    postgres: { type: 'boolean', default: false },
    /** Leaves out everything but the sizes. */
    'only-sizes': { type: 'boolean', default: false },
  },
});
const sizes = (flags.full ? '1000,100000,1000000' : flags.sizes).split(',').map(Number);
console.log(
  `Load of the machine before: ${loadavg()
    .map((load) => load.toFixed(1))
    .join(', ')}`,
);
const folder = mkdtempSync(path.join(tmpdir(), 'agl-bench-'));
const results: BenchmarkResult[] = [];
try {
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
    add(await measurePython(flags.python, sqlite.throughput));
    progress('every call, one after another');
    add(await measureCalls(path.join(folder, 'calls.db')));
  }
  if ((flags.postgres || flags.full) && !flags['only-sizes']) {
    progress('PostgreSQL: started');
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
} finally {
  rmSync(folder, { recursive: true, force: true });
}
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
