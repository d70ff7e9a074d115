import { fileURLToPath } from 'node:url';

/** The file of the program that runs one training for the server; in the folder of this file, in sources and bundle. */
export function runWorkerEntry(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./run-worker.${extension}`, import.meta.url));
}
