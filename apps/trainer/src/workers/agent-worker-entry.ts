import { fileURLToPath } from 'node:url';

/** The file of the worker processes' program. It is in the folder of this file, in the sources and in the bundle. */
export function agentWorkerEntry(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./agent-worker.${extension}`, import.meta.url));
}
