/**
 * `pnpm chaos store [--database sqlite|postgres] [--kills 100] [--database-kills 100] [--clients 4] [--seed 1]
 * [--store <location>]`: kills a store's server again and again under load, and with PostgreSQL the database's
 * processes too, and looks for what was acknowledged. Exits with 1 when anything is lost, or there twice.
 *
 * @module
 */
import { parseArgs } from 'node:util';
import { startPostgres } from '../../src/testing/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { runStoreChaos, type StoreChaosOptions } from './run-store-chaos.ts';

const { values } = parseArgs({
  options: {
    /** What the store keeps its data in. A PostgreSQL is started for this, and removed. */
    database: { type: 'string', default: 'sqlite' },
    kills: { type: 'string', default: '100' },
    /** Number of kills of the database, where it is a separate process started here. */
    'database-kills': { type: 'string', default: '100' },
    clients: { type: 'string', default: '4' },
    seed: { type: 'string', default: '1' },
    /** A new and empty store somewhere else. */
    store: { type: 'string' },
  },
});
const [kills, clients, seed] = [Number(values.kills), Number(values.clients), Number(values.seed)];
const databaseKills = Number(values['database-kills']);
await using folder = await temporaryFolder();
await using postgres =
  values.database === 'postgres' && values.store === undefined ? await startPostgres({ isDurable: true }) : null;
const target: Pick<StoreChaosOptions, 'location' | 'database'> =
  postgres === null
    ? { location: values.store ?? `sqlite:${folder.path}/agl.db` }
    : { location: await postgres.createDatabase(), database: { program: postgres, kills: databaseKills } };
const all = kills + (target.database?.kills ?? 0);
const startedMs = performance.now();
let killed = 0;
const { acknowledged, losses } = await runStoreChaos({
  ...target,
  kills,
  clients,
  seed,
  spansPerLife: 400,
  onKill: (victim, counts) => {
    killed += 1;
    process.stderr.write(`kill ${killed}/${all}: ${victim} ${JSON.stringify(counts)}\n`);
  },
});
for (const loss of losses) process.stderr.write(`LOST: ${loss}\n`);
const seconds = Math.round((performance.now() - startedMs) / 1000);
const report = {
  database: postgres === null ? 'sqlite' : 'postgres',
  kills,
  databaseKills: target.database?.kills ?? 0,
  clients,
  seed,
  seconds,
  acknowledged,
  losses: losses.length,
};
process.stdout.write(`${JSON.stringify(report)}\n`);
process.exitCode = losses.length === 0 ? 0 : 1;
