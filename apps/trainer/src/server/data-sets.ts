import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { AgentLightningError, NotFoundError } from '@agentlightning/core';
import { isJsonObject, KeyedMutex } from '@agentlightning/core/internal';

/** The state of an uploaded data set. */
export interface DataSetState {
  /** The received bytes. */
  readonly bytes: number;
  /** Whether the data set is complete and was validated. */
  readonly isComplete: boolean;
}

/** A part of a data set. */
export interface DataSetPart {
  readonly offset: number;
  /** The size of the whole data set in bytes. */
  readonly totalBytes: number;
  readonly content: Uint8Array;
}

/**
 * The uploaded data sets of a server: JSON-lines files, named by the SHA-256 digest of their content. Parts are appended in
 * order, so an upload continues after an interruption, and a second upload of the same content has nothing to send.
 */
export class DataSets {
  readonly #folder: string;
  /** Several clients may upload the same data set at a time. */
  readonly #mutex = new KeyedMutex();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async state(digest: string): Promise<DataSetState> {
    const complete = await sizeOf(this.#file(digest));
    if (complete !== null) return { bytes: complete, isComplete: true };
    return { bytes: (await sizeOf(this.#draft(digest))) ?? 0, isComplete: false };
  }

  /**
   * Appends a part. The last one completes the data set.
   *
   * @throws AgentLightningError CONFLICT for another offset than the received bytes, TASK_FILE for an invalid line, and
   *   VALIDATION for a wrong digest; the received bytes are then discarded
   */
  async append(digest: string, part: DataSetPart): Promise<DataSetState> {
    return await this.#mutex.runExclusive(digest, () => this.#append(digest, part));
  }

  async #append(digest: string, { offset, totalBytes, content }: DataSetPart): Promise<DataSetState> {
    const { bytes, isComplete } = await this.state(digest);
    if (isComplete) return { bytes, isComplete };
    if (offset !== bytes) throw wrongOffset(offset, bytes);
    await mkdir(this.#folder, { recursive: true });
    const file = await open(this.#draft(digest), 'a');
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    const received = bytes + content.byteLength;
    if (received < totalBytes) return { bytes: received, isComplete: false };
    await this.#complete(digest);
    return { bytes: received, isComplete: true };
  }

  /**
   * The file of a complete data set.
   *
   * @throws NotFoundError
   */
  async file(digest: string): Promise<string> {
    const { isComplete } = await this.state(digest);
    if (!isComplete) throw new NotFoundError('Data set', digest);
    return this.#file(digest);
  }

  async #complete(digest: string): Promise<void> {
    const draft = this.#draft(digest);
    try {
      await assertDigest(draft, digest);
      await assertTasks(draft);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    await rename(draft, this.#file(digest));
  }

  #file(digest: string): string {
    if (!/^[0-9a-f]{64}$/.test(digest)) throw invalid(`"${digest}" is not a SHA-256 digest`);
    return path.join(this.#folder, `${digest}.jsonl`);
  }

  #draft(digest: string): string {
    return `${this.#file(digest)}.part`;
  }
}

async function sizeOf(file: string): Promise<number | null> {
  return await stat(file).then(
    ({ size }) => size,
    () => null,
  );
}

async function assertDigest(file: string, digest: string): Promise<void> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  const actual = hash.digest('hex');
  if (actual !== digest) throw invalid(`the content has the digest ${actual}, not ${digest}`);
}

async function assertTasks(file: string): Promise<void> {
  let line = 0;
  for await (const text of createInterface({ input: createReadStream(file) })) {
    line += 1;
    if (!isTask(text)) {
      throw new AgentLightningError({
        code: 'TASK_FILE',
        message: `line ${line} of the data set is not a JSON object`,
        remedy: 'Upload one JSON object a line. Nothing was kept of this data set.',
      });
    }
  }
  if (line === 0) throw new AgentLightningError({ code: 'TASK_FILE', message: 'the data set has no task' });
}

function isTask(text: string): boolean {
  try {
    return isJsonObject(JSON.parse(text));
  } catch {
    return false;
  }
}

function wrongOffset(offset: number, bytes: number): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFLICT',
    message: `the part starts at byte ${offset}, and ${bytes} bytes were received`,
    remedy: 'Continue the upload with the received bytes.',
    details: { bytes },
  });
}

function invalid(message: string): AgentLightningError {
  return new AgentLightningError({ code: 'VALIDATION', message, remedy: 'Upload the data set again.' });
}
