import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { ValidationError } from '@agentlightning/core';
import { archiveError, linesOfBytes } from './archive-lines.ts';
import { type ArchiveRecord, archiveFormat, archiveRecordSchema, archiveVersion } from './run-archive-record.ts';

/**
 * Reads an archive from its file, record by record, without holding more than one.
 *
 * @throws ValidationError as soon as something is not as it was written, at the latest at the end
 */
export async function* readArchive(file: string): AsyncGenerator<ArchiveRecord> {
  const hash = createHash('sha256');
  let lines = 0;
  let end: ArchiveRecord | null = null;
  for await (const line of linesOfBytes(unzipped(file))) {
    if (end !== null) throw archiveError('goes on after its end');
    const record = recordOf(line, lines + 1);
    assertPlace(record, lines);
    if (record.kind !== 'end') {
      hash.update(line);
      lines += 1;
      yield record;
      continue;
    }
    if (record.lines !== lines || record.sha256 !== hash.digest('hex')) {
      throw archiveError('is not what was written: its checksum is another one');
    }
    end = record;
  }
  if (end === null) throw archiveError(`is cut off after line ${lines}`);
}

async function* unzipped(file: string): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  const ended = pipeline(createReadStream(file), gunzip).catch(() => undefined);
  try {
    yield* gunzip;
  } catch (cause) {
    throw archiveError(`cannot be unpacked: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  } finally {
    gunzip.destroy();
    await ended;
  }
}

function recordOf(line: Buffer, number: number): ArchiveRecord {
  let value: unknown;
  try {
    value = JSON.parse(line.toString());
  } catch (cause) {
    throw archiveError(`has no JSON in line ${number}`, cause);
  }
  const parsed = archiveRecordSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
  throw archiveError(`has a wrong line ${number}`, parsed.error, issues.slice(0, 3));
}

/** The header comes first and nowhere else, and the run after it. */
function assertPlace(record: ArchiveRecord, before: number): void {
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
