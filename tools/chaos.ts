/**
 * `pnpm chaos <name> [flags]`: injects faults into a package, or into the processes of training runs (`train`), for longer
 * than tests have time for; without a name, lists the names.
 *
 * @module
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const [name, ...flags] = process.argv.slice(2);
const packages = readdirSync(path.join(root, 'packages')).map((entry) => [entry, `packages/${entry}`] as const);
const mains = new Map(
  [...packages, ['train', 'apps/trainer'] as const]
    .map(([entry, folder]) => [entry, path.join(root, folder, 'test/chaos/main.ts')] as const)
    .filter(([, file]) => existsSync(file)),
);
const main = name === undefined ? undefined : mains.get(name);

if (main === undefined) {
  const names = [...mains.keys()].join(', ');
  process.stderr.write(`${name === undefined ? 'Give a name' : `"${name}" has no chaos`}: ${names}\n`);
  process.exit(2);
}
const run = spawnSync(process.execPath, ['--conditions=@agentlightning/source', main, ...flags], {
  stdio: 'inherit',
});
process.exit(run.status ?? 1);
