import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { CreateError } from './create-error.ts';

/** The commands that add dependencies and development dependencies, by package manager. */
const commands = {
  npm: { add: ['npm', 'install'], dev: '--save-dev' },
  pnpm: { add: ['pnpm', 'add'], dev: '--save-dev' },
  yarn: { add: ['yarn', 'add'], dev: '--dev' },
  bun: { add: ['bun', 'add'], dev: '--dev' },
} as const;

/** The package manager that runs this process, from `npm_config_user_agent`; npm if unknown. */
export function packageManagerOf(userAgent: string | undefined): keyof typeof commands {
  const name = userAgent?.split('/', 1)[0];
  return name === 'pnpm' || name === 'yarn' || name === 'bun' ? name : 'npm';
}

/** The commands that install the packages of a project. */
export function installCommands(
  manager: keyof typeof commands,
  {
    dependencies,
    devDependencies,
  }: { readonly dependencies: readonly string[]; readonly devDependencies: readonly string[] },
): readonly (readonly string[])[] {
  const { add, dev } = commands[manager];
  return [
    [...add, ...dependencies],
    [...add, dev, ...devDependencies],
  ];
}

/**
 * Runs commands in a folder, with their output on this terminal.
 *
 * @throws CreateError when one fails
 */
export async function runCommands(list: readonly (readonly string[])[], cwd: string): Promise<void> {
  for (const [program = '', ...args] of list) {
    // On Windows package managers are command files.
    const child = spawn(program, args, { cwd, stdio: 'inherit', shell: process.platform === 'win32' });
    const [code] = await once(child, 'exit').catch((error: Error) => [error.message]);
    if (code === 0) continue;
    const command = [program, ...args].join(' ');
    throw new CreateError(`Installation failed: ${command} (${code}). Correct the cause and run it in ${cwd}.`, 1);
  }
}
