/**
 * `pnpm chaos server [--kills 30] [--seed 1] [--database sqlite|postgres]`: kills the processes of `agl server`, of its
 * clients and of its runners at random, while two projects train on it. Looks for steps that were lost or counted twice, for
 * lost records, and for metrics that differ from those of an uninterrupted run. Each database gets as many kills.
 *
 * @module
 */
import { parseArgs } from 'node:util';
import { runServerChaos, type ServerChaosReport } from './run-server-chaos.ts';
import type { Database } from './server-processes.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
    /** Only this one. */
    database: { type: 'string' },
  },
});
const [kills, seed] = [Number(values.kills), Number(values.seed)];
const databases: readonly Database[] = (['sqlite', 'postgres'] as const).filter(
  (database) => values.database === undefined || values.database === database,
);
const startedMs = performance.now();
const reports: Partial<Record<Database, ServerChaosReport>> = {};
for (const database of databases) {
  let killed = 0;
  reports[database] = await runServerChaos({
    database,
    kills,
    seed,
    onKill: (victim, project) => {
      killed += 1;
      process.stderr.write(`${database}: kill ${killed}/${kills}: ${victim} (${project})\n`);
    },
  });
}
const faults = Object.values(reports).flatMap((report) => report.faults);
for (const fault of faults) process.stderr.write(`FAULT: ${fault}\n`);
const seconds = Math.round((performance.now() - startedMs) / 1000);
process.stdout.write(`${JSON.stringify({ kills, seed, seconds, reports, faults: faults.length })}\n`);
process.exitCode = faults.length === 0 && databases.length > 0 ? 0 : 1;
