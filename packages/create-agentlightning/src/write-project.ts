import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CreateError } from './create-error.ts';

/** Files that a new folder may have already. */
const harmless: ReadonlySet<string> = new Set(['.git', '.DS_Store', '.idea', '.vscode']);

/**
 * Writes the files of a project into a folder, which must be new or empty.
 *
 * @throws CreateError when the folder has files
 */
export async function writeProject(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(folder, { recursive: true });
  const existing = (await readdir(folder)).filter((name) => !harmless.has(name));
  if (existing.length > 0) {
    const remedy = 'Choose another one. In an existing project, run npx agentlightning init.';
    throw new CreateError(`Folder is not empty: ${folder} has ${existing[0]}. ${remedy}`, 2);
  }
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { flag: 'wx' });
  }
}
