import { cp } from 'node:fs/promises';
import { basename } from 'node:path';
import { repositoryRoot } from '../repository-files.ts';
import { runCommand } from '../verify/run-command.ts';

/** Folders that hold what tools made; a fresh clone does not have them either. */
const leftOut = new Set(['node_modules', 'dist', '.git', '.turbo', '.agl', '.venv', 'coverage', '.stryker-tmp']);

/** A copy of the repository in which a release changes versions: a git repository of one commit, with dependencies installed. */
export async function copyRepository(folder: string): Promise<void> {
  await cp(repositoryRoot, folder, { recursive: true, filter: (source) => !leftOut.has(basename(source)) });
  await runIn(folder, ['git', 'init', '--quiet', '--initial-branch', 'main']);
  await commitAll(folder, 'chore: copy');
  await runIn(folder, ['pnpm', 'install', '--frozen-lockfile', '--prefer-offline']);
}

/** Commits everything in a copy. */
export async function commitAll(folder: string, message: string): Promise<void> {
  const author = ['-c', 'user.name=Release', '-c', 'user.email=release@localhost'];
  await runIn(folder, ['git', 'add', '--all']);
  await runIn(folder, ['git', ...author, 'commit', '--quiet', '--message', message]);
}

async function runIn(cwd: string, command: readonly string[]): Promise<void> {
  const { isOk, output } = await runCommand(command, { cwd });
  if (!isOk) throw new Error(`Command failed in ${cwd}: ${command.join(' ')}\n${output}`);
}
