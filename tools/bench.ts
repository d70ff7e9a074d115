/**
 * `pnpm bench <name> [flags]`: builds the packages and runs one benchmark; without a name, lists them.
 *
 * @module
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const folder = path.join(root, 'benchmarks');
const [name, ...flags] = process.argv.slice(2);
const names = readdirSync(folder).filter((entry) => existsSync(path.join(folder, entry, 'main.ts')));

if (name === undefined || !names.includes(name)) {
  process.stderr.write(
    `${name === undefined ? 'Name a benchmark' : `There is no benchmark "${name}"`}: ${names.join(', ')}\n`,
  );
  process.exit(2);
}

const build = spawnSync('turbo', ['run', 'build', '--output-logs=errors-only'], {
  cwd: root,
  encoding: 'utf8',
  env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1' },
});
if (build.status !== 0) {
  process.stderr.write(`The build failed.\n${build.stdout}\n${build.stderr}\n`);
  process.exit(1);
}
const run = spawnSync(process.execPath, [path.join(folder, name, 'main.ts'), ...flags], {
  cwd: root,
  stdio: 'inherit',
});
process.exit(run.status ?? 1);
