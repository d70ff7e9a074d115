import { once } from 'node:events';
import { mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { AgentLightningError, type Clock, NotFoundError } from '@agentlightning/core';
import { errorMessage, KeyedMutex } from '@agentlightning/core/internal';
import type { DataSetCheck } from './data-set-worker.ts';

/** The largest data set in bytes: the process of a run has its tasks in memory. */
export const maxDataSetBytes: number = 256 * 1024 ** 2;

/** The most bytes of the data sets of a project. */
const defaultMaxBytes = 10 * 1024 ** 3;

/** Maximum interruption of an upload, in milliseconds. */
const uploadLifetimeMs = 24 * 3_600_000;

const expiryIntervalMs = 600_000;

/** The share of the disk that uploads leave free. */
const reservedShare = 0.05;

const draftEnding = '.part';

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
  readonly content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/**
 * The uploaded data sets of a server: JSON-lines files, named by the SHA-256 digest of their content. Parts are appended in
 * order, so an upload continues after an interruption, and a second upload of the same content has nothing to send.
 */
export class DataSets {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #maxBytes: number;
  #nextExpiryMs = 0;
  /** Several clients may upload the same data set at a time. */
  readonly #mutex = new KeyedMutex();
  /** One check of a project at a time. */
  readonly #checks = new KeyedMutex();
  readonly #fingerprints = new Map<string, Promise<string>>();

  /** @param options.maxBytes - the most bytes of all data sets */
  constructor(folder: string, options: { readonly clock: Clock; readonly maxBytes?: number }) {
    this.#folder = folder;
    this.#clock = options.clock;
    this.#maxBytes = options.maxBytes ?? defaultMaxBytes;
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
    await this.#expireUploads();
    await this.#assertSpace(totalBytes - bytes);
    const file = await open(this.#draft(digest), 'a');
    let received = bytes;
    try {
      // What arrived before an interruption is kept.
      for await (const chunk of content) {
        received += chunk.byteLength;
        if (received > totalBytes) break;
        await file.writeFile(chunk);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    if (received < totalBytes) return { bytes: received, isComplete: false };
    await this.#complete(digest, received > totalBytes);
    return { bytes: received, isComplete: true };
  }

  /** Removes uploads that were not continued. */
  async #expireUploads(): Promise<void> {
    const nowMs = this.#clock.now();
    if (nowMs < this.#nextExpiryMs) return;
    this.#nextExpiryMs = nowMs + expiryIntervalMs;
    for (const name of (await readdir(this.#folder)).filter((each) => each.endsWith(draftEnding))) {
      const draft = path.join(this.#folder, name);
      const { mtimeMs } = await stat(draft).catch(() => ({ mtimeMs: nowMs }));
      if (nowMs - mtimeMs > uploadLifetimeMs) await rm(draft, { force: true });
    }
  }

  /** @throws AgentLightningError QUOTA_EXCEEDED, or STORE_FULL when the disk is almost full: runs need the rest */
  async #assertSpace(bytes: number): Promise<void> {
    let used = 0;
    for (const name of await readdir(this.#folder)) used += (await sizeOf(path.join(this.#folder, name))) ?? 0;
    if (used + bytes > this.#maxBytes) throw overQuota(used + bytes, this.#maxBytes);
    const { bavail, blocks, bsize } = await statfs(this.#folder);
    const free = bavail * bsize;
    if (free - bytes < blocks * bsize * reservedShare) throw almostFull(free);
  }

  /**
   * The number of tasks of a complete data set, with a digest of their JSON.
   *
   * @throws NotFoundError
   */
  async fingerprint(digest: string): Promise<string> {
    const file = await this.file(digest);
    const known = this.#fingerprints.get(digest);
    if (known !== undefined) return await known;
    const checked = this.#check(file).then(({ fingerprint }) => fingerprint);
    this.#fingerprints.set(digest, checked);
    checked.catch(() => this.#fingerprints.delete(digest));
    return await checked;
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

  async #complete(digest: string, isTooLong: boolean): Promise<void> {
    const draft = this.#draft(digest);
    try {
      if (isTooLong) throw invalid('the data set is longer than its declared size');
      const { digest: actual, fingerprint } = await this.#check(draft);
      if (actual !== digest) throw invalid(`the content has the digest ${actual}, not ${digest}`);
      this.#fingerprints.set(digest, Promise.resolve(fingerprint));
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    await rename(draft, this.#file(digest));
  }

  #check(file: string): ReturnType<typeof checkFile> {
    return this.#checks.runExclusive('', () => checkFile(file));
  }

  #file(digest: string): string {
    if (!/^[0-9a-f]{64}$/.test(digest)) throw invalid(`"${digest}" is not a SHA-256 digest`);
    return path.join(this.#folder, `${digest}.jsonl`);
  }

  #draft(digest: string): string {
    return `${this.#file(digest)}${draftEnding}`;
  }
}

async function sizeOf(file: string): Promise<number | null> {
  return await stat(file).then(
    ({ size }) => size,
    () => null,
  );
}

/** Checks the content of a file in a thread. @throws AgentLightningError TASK_FILE */
async function checkFile(file: string): Promise<Extract<DataSetCheck, { readonly problem: null }>> {
  const worker = new Worker(workerUrl(), { workerData: { file }, resourceLimits: { maxOldGenerationSizeMb: 512 } });
  // A task that is nested deeply exhausts the memory of the thread.
  const [check] = (await once(worker, 'message').catch((error: unknown) => [
    { problem: `the data set cannot be read: ${errorMessage(error)}` },
  ])) as [DataSetCheck];
  if (check.problem === null) return check;
  throw new AgentLightningError({
    code: 'TASK_FILE',
    message: check.problem,
    remedy: 'Upload one JSON object a line. Nothing was kept of this data set.',
  });
}

/** The thread's program is in the folder of this file, in sources and bundle. */
function workerUrl(): URL {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./data-set-worker.${extension}`, import.meta.url);
}

function wrongOffset(offset: number, bytes: number): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFLICT',
    message: `the part starts at byte ${offset}, and ${bytes} bytes were received`,
    remedy: 'Continue the upload with the received bytes.',
    details: { bytes },
  });
}

function overQuota(bytes: number, limit: number): AgentLightningError {
  return new AgentLightningError({
    code: 'QUOTA_EXCEEDED',
    message: `the data sets of the project would have ${bytes} bytes, the limit is ${limit}`,
    remedy: 'Remove data sets that no run needs from the data directory of the server.',
    details: { bytes, limit },
  });
}

function almostFull(free: number): AgentLightningError {
  return new AgentLightningError({
    code: 'STORE_FULL',
    message: `the disk of the server has ${free} bytes left, which its runs need`,
    remedy: 'Free disk space on the server, then upload the data set again.',
  });
}

function invalid(message: string): AgentLightningError {
  return new AgentLightningError({ code: 'VALIDATION', message, remedy: 'Upload the data set again.' });
}
