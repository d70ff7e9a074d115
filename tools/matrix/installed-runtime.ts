import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../verify/run-command.ts';
import type { MatrixRuntime } from './runtimes.ts';

/**
 * Installs a runtime, unless it is there, and gives the start of the command that runs a program on it.
 *
 * The package that carries the binary for this machine is installed by itself: no script runs, nothing is downloaded
 * from elsewhere.
 */
export async function installRuntime(runtime: MatrixRuntime, folder: string): Promise<readonly string[]> {
  const { name, version } = runtime.package;
  const home = join(folder, `${runtime.name}-${version}`);
  const program = join(home, 'node_modules', name, runtime.program);
  if (!existsSync(program)) {
    await mkdir(home, { recursive: true });
    await writeFile(join(home, 'package.json'), JSON.stringify({ name: 'a-runtime', private: true }));
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund'];
    const { isOk, output } = await runCommand(['npm', 'install', ...flags, `${name}@${version}`], { cwd: home });
    if (!isOk) throw new Error(`${runtime.name} could not be installed as ${name}@${version}.\n${output}`);
  }
  return [program, ...runtime.flags];
}
