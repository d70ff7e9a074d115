import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Run } from '@agentlightning/core';
import { loadRun } from '../operations/records/read-runs.ts';
import type { OperationContext } from '../sql/operation.ts';
import type { OperationRunner } from '../sql/operation-runner.ts';
import { archiveError } from './archive-lines.ts';
import { readArchive } from './read-archive.ts';
import { WriteArchive } from './write-archive.ts';

/**
 * Imports a run from an archive atomically. The archive is buffered in a file and verified before the transaction
 * begins: a slow sender blocks no writers, and an invalid archive is never visible.
 *
 * @throws ValidationError when the archive is truncated, modified, or not an archive
 * @throws AgentLightningError CONFLICT when the run or one of its rollouts already exists
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

/** Reads the archive to its checksum at the end. */
async function checkArchive(file: string): Promise<void> {
  for await (const _record of readArchive(file));
}

async function writeRun(context: OperationContext, file: string): Promise<Run> {
  const writing = new WriteArchive(context);
  for await (const record of readArchive(file)) await writing.write(record);
  await writing.finish();
  if (writing.runId === null) throw archiveError('contains no run');
  return loadRun(context, writing.runId);
}
