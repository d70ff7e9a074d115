import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Run } from '@agentlightning/core';
import type { OperationContext } from '../operation.ts';
import type { OperationRunner } from '../operation-runner.ts';
import { loadRun } from '../operations/read-runs.ts';
import { WriteArchive } from '../operations/write-archive.ts';
import { archiveError } from './archive-lines.ts';
import { readArchive } from './read-archive.ts';

/**
 * Adds a run from an archive, all of it or nothing. The archive is put aside and checked to its end before the
 * transaction that writes it begins: nobody waits for a slow sender, and nothing of a bad file is ever there.
 *
 * @throws ValidationError when the archive is cut off, was changed, or is none
 * @throws AgentLightningError CONFLICT when the run or a rollout of it is there already
 */
export async function importRun(runner: OperationRunner, archive: AsyncIterable<Uint8Array>): Promise<Run> {
  const folder = await mkdtemp(join(tmpdir(), 'agl-import-'));
  const file = join(folder, 'run.gz');
  try {
    await pipeline(archive, createWriteStream(file));
    await checkArchive(file);
    return await runner.write((context) => writeRun(context, file));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Reads it to the end, where its checksum is. */
async function checkArchive(file: string): Promise<void> {
  for await (const _record of readArchive(file));
}

async function writeRun(context: OperationContext, file: string): Promise<Run> {
  const writing = new WriteArchive(context);
  for await (const record of readArchive(file)) await writing.write(record);
  await writing.finish();
  if (writing.runId === null) throw archiveError('holds no run');
  return loadRun(context, writing.runId);
}
