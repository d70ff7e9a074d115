import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-files.ts';
import { runCommand } from '../verify/run-command.ts';

/**
 * Packs packages of the workspace as they would be published, and gives the archives by the name of their folder.
 *
 * An archive is named after what is in it: npm then notices a new one, and nothing else is installed again.
 *
 * @param names folders under `packages`, which must have been built
 * @param folder where the archives go
 */
export async function packPackages(names: Iterable<string>, folder: string): Promise<ReadonlyMap<string, string>> {
  await mkdir(folder, { recursive: true });
  const archives = new Map<string, string>();
  for (const name of new Set(names)) {
    const packed = join(folder, `${name}-${process.pid}.tgz`);
    const cwd = join(repositoryRoot, 'packages', name);
    const { isOk, output } = await runCommand(['pnpm', 'pack', '--out', packed], { cwd });
    if (!isOk) throw new Error(`The package ${name} could not be packed.\n${output}`);
    const digest = createHash('sha256')
      .update(await readFile(packed))
      .digest('hex')
      .slice(0, 16);
    const archive = join(folder, `${name}-${digest}.tgz`);
    await rename(packed, archive);
    await rm(packed, { force: true });
    archives.set(name, archive);
  }
  return archives;
}
