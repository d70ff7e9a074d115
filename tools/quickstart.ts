/**
 * `pnpm quickstart`: builds the packages, then trains the example agent `examples/stock-clerk` with
 * store, gateway and embedded runtime on this machine. Flags go to `agl train`, such as `--seed 3`
 * or `--json`. Ends with 1 when the agent did not get better.
 *
 * @module
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const flags = process.argv.slice(2).filter((flag) => flag !== '--');

function build(): void {
  if (process.stderr.isTTY) process.stderr.write('Building the packages; the first time this takes some seconds …\n');
  const { status, stdout, stderr } = spawnSync(
    'turbo',
    ['run', 'build', '--output-logs=errors-only', '--log-order=grouped'],
    { cwd: root, encoding: 'utf8', env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', FORCE_COLOR: '0' } },
  );
  if (status === 0) return;
  process.stderr.write(`The build failed.\n${stdout}\n${stderr}\n`);
  process.exit(status ?? 1);
}

/** Trains in a child process. Ctrl+C reaches the child too: it stops in order while the parent waits. */
async function train(): Promise<number> {
  const agl = path.join(root, 'apps/trainer/dist/cli/main.js');
  const config = path.join(root, 'examples/stock-clerk/agl.config.ts');
  const ignored = (): void => undefined;
  process.on('SIGINT', ignored).on('SIGTERM', ignored);
  const child = spawn(process.execPath, [agl, 'train', config, '--data-dir', path.join(root, '.agl'), ...flags], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, AGL_COMMAND: 'npx -y pnpm@12 agl' },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

build();
process.exitCode = await train();
