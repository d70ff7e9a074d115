import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { ValidationError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import type { z } from 'zod';
import { assertJsonSize } from '../sql/json-limits.ts';
import { archiveError, splitLines } from './archive-lines.ts';
import { type ArchiveRecord, archiveFormat, archiveRecordSchema, archiveVersion } from './run-archive-record.ts';

/** Size of a line up to which several invalid fields are reported, instead of the first. */
const maxReportedBytes = 100_000;

/**
 * Reads an archive file record by record.
 *
 * @throws ValidationError when a record is invalid or, at the end, the checksum does not match
 */
export async function* readArchive(file: string): AsyncGenerator<ArchiveRecord> {
  const hash = createHash('sha256');
  let lines = 0;
  let end: ArchiveRecord | null = null;
  for await (const line of splitLines(unzipped(file))) {
    if (end !== null) throw archiveError('has data after its end record');
    const record = recordOf(line, lines + 1);
    assertOrder(record, lines);
    if (record.kind !== 'end') {
      hash.update(line);
      lines += 1;
      yield record;
      continue;
    }
    if (record.lines !== lines || record.sha256 !== hash.digest('hex')) {
      throw archiveError('has a wrong checksum: it was modified or damaged');
    }
    end = record;
  }
  if (end === null) throw archiveError(`is truncated after line ${lines}`);
}

async function* unzipped(file: string): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  const ended = pipeline(createReadStream(file), gunzip).catch(() => undefined);
  try {
    yield* gunzip;
  } catch (cause) {
    throw archiveError(`cannot be decompressed: ${errorMessage(cause)}`, cause);
  } finally {
    gunzip.destroy();
    await ended;
  }
}

function recordOf(line: Buffer, number: number): ArchiveRecord {
  let value: unknown;
  assertJsonSize(line);
  try {
    value = JSON.parse(line.toString());
  } catch (cause) {
    throw archiveError(`has invalid JSON in line ${number}`, cause);
  }
  const options: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: line.length > maxReportedBytes };
  const parsed = archiveRecordSchema.safeParse(value, options);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
  throw archiveError(`has an invalid line ${number}`, parsed.error, issues.slice(0, 3));
}

/** The header must be the first record and the run the second. */
function assertOrder(record: ArchiveRecord, before: number): void {
  if ((before === 0) !== (record.kind === 'header') || (before === 1) !== (record.kind === 'run')) {
    throw archiveError(`has ${record.kind === 'end' ? 'its end' : `a ${record.kind}`} in line ${before + 1}`);
  }
  if (record.kind === 'header' && record.version > archiveVersion) {
    throw new ValidationError('Run archive', [
      {
        path: 'version',
        message: `${archiveFormat} ${record.version} was written by a newer version of this package, which reads up to ${archiveVersion}`,
      },
    ]);
  }
}
