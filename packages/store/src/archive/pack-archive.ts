import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Rollout, Run } from '@agentlightning/core';
import { type ArchiveRecord, archiveFormat, archiveRecordSchema, archiveVersion } from './run-archive-record.ts';

/** The file of an archive with these records, and its end. */
export async function* packArchive(records: AsyncIterable<ArchiveRecord>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip();
  // An error destroys the stream, which reports it to the reader of the archive.
  const ended = pipeline(Readable.from(linesOf(records)), gzip).catch(() => undefined);
  try {
    yield* gzip;
  } finally {
    gzip.destroy();
    await ended;
  }
}

async function* linesOf(records: AsyncIterable<ArchiveRecord>): AsyncGenerator<string> {
  const hash = createHash('sha256');
  let lines = 0;
  for await (const record of records) {
    const line = `${JSON.stringify(archiveRecordSchema.encode(record))}\n`;
    hash.update(line);
    lines += 1;
    yield line;
  }
  const end: ArchiveRecord = { kind: 'end', lines, sha256: hash.digest('hex') };
  yield `${JSON.stringify(end)}\n`;
}

/**
 * An archive of a run with rollouts that no agent has run, such as the examples of a data set. A store creates the run atomically
 * with `importRun`.
 *
 * @param rollouts - finished rollouts of the run, without attempts
 */
export function createRunArchive(run: Run, rollouts: Iterable<Rollout>): AsyncIterable<Uint8Array> {
  return packArchive(recordsOf(run, rollouts));
}

async function* recordsOf(run: Run, rollouts: Iterable<Rollout>): AsyncGenerator<ArchiveRecord> {
  yield { kind: 'header', format: archiveFormat, version: archiveVersion, run_id: run.runId };
  yield { kind: 'run', run };
  for (const rollout of rollouts) yield { kind: 'rollout', rollout, last_sequence_id: 0 };
}
