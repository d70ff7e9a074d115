/**
 * `pnpm chaos <package> [flags]`: treats a part of the system badly for longer than tests have time for, such as
 * killing it a hundred times; without a name, lists what there is.
 *
 * @module
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

const folder = path.resolve(import.meta.dirname, '../packages');
const [name, ...flags] = process.argv.slice(2);
const mainOf = (entry: string): string => path.join(folder, entry, 'test/chaos/main.ts');
const names = readdirSync(folder).filter((entry) => existsSync(mainOf(entry)));

if (name === undefined || !names.includes(name)) {
  process.stderr.write(`${name === undefined ? 'Name a package' : `"${name}" has no chaos`}: ${names.join(', ')}\n`);
  process.exit(2);
}
const run = spawnSync(process.execPath, ['--conditions=@agentlightning/source', mainOf(name), ...flags], {
  stdio: 'inherit',
});
process.exit(run.status ?? 1);
