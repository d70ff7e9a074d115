/**
 * `pnpm quickstart`: builds the packages, then trains the example agent `examples/stock-clerk` with
 * store, gateway and embedded runtime on this machine. Flags go to `agl train`, such as `--seed 3`
 * or `--json`. Ends with 1 when the agent did not get better.
 *
 * @module
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const flags = process.argv.slice(2).filter((flag) => flag !== '--');

const build = spawnSync('turbo', ['run', 'build', '--output-logs=errors-only', '--log-order=grouped'], {
  cwd: root,
  encoding: 'utf8',
  env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', FORCE_COLOR: '0' },
});
if (build.status !== 0) {
  process.stderr.write(`The build failed.\n${build.stdout}\n${build.stderr}\n`);
  process.exit(build.status ?? 1);
}

const agl = path.join(root, 'apps/trainer/dist/cli/main.js');
const config = path.join(root, 'examples/stock-clerk/agl.config.ts');
const train = spawnSync(process.execPath, [agl, 'train', config, '--data-dir', path.join(root, '.agl'), ...flags], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, AGL_COMMAND: 'pnpm agl' },
});
process.exit(train.status ?? 1);
