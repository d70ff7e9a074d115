import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-files.ts';
import { runCommand } from '../verify/run-command.ts';

/**
 * Packs workspace packages as for publishing, and returns the archives by package folder.
 *
 * An archive is named after its content, so that npm reinstalls only changed packages.
 *
 * @param names folders under `packages`, which must have been built
 * @param folder the output folder of the archives
 */
export async function packPackages(names: Iterable<string>, folder: string): Promise<ReadonlyMap<string, string>> {
  await mkdir(folder, { recursive: true });
  const archives = new Map<string, string>();
  for (const name of new Set(names)) {
    const packed = join(folder, `${name}-${process.pid}.tgz`);
    const cwd = join(repositoryRoot, 'packages', name);
    const { isOk, output } = await runCommand(['pnpm', 'pack', '--out', packed], { cwd });
    if (!isOk) throw new Error(`Packing failed: ${name}.\n${output}`);
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
