import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../verify/run-command.ts';
import type { MatrixRuntime } from './runtimes.ts';

/**
 * Installs a runtime if necessary, and returns the prefix of the command that runs a program on it.
 *
 * Only the package with the binary for this machine is installed: no script is run, and nothing is downloaded from other
 * sources.
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
    if (!isOk) throw new Error(`Installation failed: ${name}@${version} for ${runtime.name}.\n${output}`);
  }
  return [program, ...runtime.flags];
}
