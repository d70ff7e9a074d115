import { lstat, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { writeFileAtomically } from '@agentlightning/runtime/internal/serving';
import { z } from 'zod';

/** The marker file of a checkpoint folder created by this runtime for one model. */
const markerName = '.agentlightning-checkpoints.json';

const markerSchema = z.object({ format: z.literal('agentlightning-checkpoints/1'), model: z.string() });

/** Marks an empty folder. A folder with files but no marker stays unmarked: its content may be the user's. */
export async function markCheckpointFolder(folder: string): Promise<void> {
  if ((await readdir(folder)).length > 0) return;
  const marker = { format: 'agentlightning-checkpoints/1', model: path.basename(folder) };
  await writeFileAtomically(path.join(folder, markerName), Buffer.from(`${JSON.stringify(marker)}\n`));
}

/** Whether this runtime created the checkpoint folder of the model with the folder's name. */
export async function isCheckpointFolder(folder: string): Promise<boolean> {
  const marker = path.join(folder, markerName);
  try {
    if (!(await lstat(folder)).isDirectory() || !(await lstat(marker)).isFile()) return false;
    return markerSchema.parse(JSON.parse(await readFile(marker, 'utf8'))).model === path.basename(folder);
  } catch {
    // No marker, or a marker not written by this runtime.
    return false;
  }
}
