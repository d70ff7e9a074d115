import { lstat, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { writeFileAtomically } from './atomic-file.ts';

/** The file that marks a folder as the checkpoints of one model, made by this runtime. */
const markerName = '.agentlightning-checkpoints.json';

const markerSchema = z.object({ format: z.literal('agentlightning-checkpoints/1'), model: z.string() });

/** Marks an empty folder. One that holds files without a marker stays unmarked: its content may be the user's. */
export async function markCheckpointFolder(folder: string): Promise<void> {
  if ((await readdir(folder)).length > 0) return;
  const marker = { format: 'agentlightning-checkpoints/1', model: path.basename(folder) };
  await writeFileAtomically(path.join(folder, markerName), Buffer.from(`${JSON.stringify(marker)}\n`));
}

/** Whether this runtime created a folder for the checkpoints of the model that the folder is named after. */
export async function isCheckpointFolder(folder: string): Promise<boolean> {
  const marker = path.join(folder, markerName);
  try {
    if (!(await lstat(folder)).isDirectory() || !(await lstat(marker)).isFile()) return false;
    return markerSchema.parse(JSON.parse(await readFile(marker, 'utf8'))).model === path.basename(folder);
  } catch {
    // No marker, or one that this runtime did not write.
    return false;
  }
}
