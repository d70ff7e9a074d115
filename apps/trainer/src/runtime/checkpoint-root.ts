import path from 'node:path';

/** The folder below a data directory where the embedded runtime saves checkpoints, in a folder for each model. */
export function checkpointRoot(dataDir: string): string {
  return path.join(dataDir, 'checkpoints');
}
