/**
 * `pnpm chaos store [--kills 100] [--clients 4] [--seed 1] [--store <location>]`: kills a store's server again and
 * again under load and looks for what it had acknowledged. Exits with 1 when anything is lost, or there twice.
 *
 * @module
 */
import { parseArgs } from 'node:util';
import { temporaryFolder } from '../temporary-folder.ts';
import { runStoreChaos } from './run-store-chaos.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    clients: { type: 'string', default: '4' },
    seed: { type: 'string', default: '1' },
    store: { type: 'string' },
  },
});
await using folder = await temporaryFolder();
const location = values.store ?? `sqlite:${folder.path}/agl.db`;
const [kills, clients, seed] = [Number(values.kills), Number(values.clients), Number(values.seed)];
const startedMs = performance.now();
const { acknowledged, losses } = await runStoreChaos({
  location,
  kills,
  clients,
  seed,
  spansPerLife: 400,
  onKill: (kill, counts) => process.stderr.write(`kill ${kill}/${kills} ${JSON.stringify(counts)}\n`),
});
for (const loss of losses) process.stderr.write(`LOST: ${loss}\n`);
const seconds = Math.round((performance.now() - startedMs) / 1000);
process.stdout.write(`${JSON.stringify({ kills, clients, seed, seconds, acknowledged, losses: losses.length })}\n`);
process.exitCode = losses.length === 0 ? 0 : 1;
