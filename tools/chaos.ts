/**
 * `pnpm chaos <name> [flags]`: injects faults into a package, into the processes of training runs (`train`), or into those
 * of a training server (`server`), for longer than tests have time for; without a name, lists the names.
 *
 * @module
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { installExtra } from './extras/extras.ts';

const root = path.resolve(import.meta.dirname, '..');
const [name, ...flags] = process.argv.slice(2);
const packages = readdirSync(path.join(root, 'packages')).map(
  (entry) => [entry, `packages/${entry}/test/chaos`] as const,
);
const apps = [
  ['train', 'apps/trainer/test/chaos'],
  ['server', 'apps/trainer/test/chaos/server'],
] as const;
const mains = new Map(
  [...packages, ...apps]
    .map(([entry, folder]) => [entry, path.join(root, folder, 'main.ts')] as const)
    .filter(([, file]) => existsSync(file)),
);
const main = name === undefined ? undefined : mains.get(name);

if (main === undefined) {
  const names = [...mains.keys()].join(', ');
  process.stderr.write(`${name === undefined ? 'Give a name' : `"${name}" has no chaos`}: ${names}\n`);
  process.exit(2);
}
if (flags.includes('postgres')) await installExtra('postgresql');
const run = spawnSync(process.execPath, ['--conditions=@agentlightning/source', main, ...flags], {
  stdio: 'inherit',
});
process.exit(run.status ?? 1);
