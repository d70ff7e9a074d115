import { Worker } from 'node:worker_threads';
import { fromBinary } from '@bufbuild/protobuf';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { type SubmitBatchResponse, SubmitBatchResponseSchema } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { ChannelSettings } from './open-channel.ts';
import { type PlainServiceError, toServiceError } from './plain-service-error.ts';
import type { BatchUpload } from './upload-batch.ts';

/** What the thread is asked. */
export interface UploadRequest {
  readonly id: number;
  /** Its payload lies in shared memory. */
  readonly upload: BatchUpload;
}

/** What the thread answers. */
export interface UploadAnswer {
  readonly id: number;
  /** The serialised `SubmitBatchResponse`, or how the call has failed; null when it could not even be made. */
  readonly outcome: { readonly response: Uint8Array } | { readonly error: PlainServiceError } | null;
}

/** An answer that the thread owes; null when it will never come. */
interface Owed {
  readonly resolve: (response: SubmitBatchResponse | null) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A thread that hashes and sends batches, over a channel of its own. What grpc-js does for every message, and the garbage
 * it leaves, then is on a heap and an event loop that nobody else uses. The thread begins with the first batch, and keeps
 * no process alive that waits for none of its answers.
 */
export class UploadThread {
  readonly #settings: ChannelSettings;
  readonly #program: URL;
  readonly #owed = new Map<number, Owed>();
  #worker: Worker | null = null;
  #isUsable = true;
  #isClosed = false;
  #lastId = 0;

  constructor(settings: ChannelSettings, program: URL = programBeside(import.meta.url)) {
    this.#settings = settings;
    this.#program = program;
  }

  /**
   * The runtime's answer; null when the thread cannot run (in a program that was bundled without it) or has died.
   * @throws ServiceError of grpc-js, as when sent from here
   * @throws RuntimeError CANCELLED when it is closed meanwhile
   */
  async upload(upload: BatchUpload): Promise<SubmitBatchResponse | null> {
    const worker = this.#running();
    if (worker === null) return null;
    return new Promise((resolve, reject) => {
      this.#lastId += 1;
      worker.postMessage({ id: this.#lastId, upload } satisfies UploadRequest);
      this.#owed.set(this.#lastId, { resolve, reject });
      // Somebody waits for the answer.
      worker.ref();
    });
  }

  /** Ends the thread and its channel, in the middle of whatever it sends. */
  async close(): Promise<void> {
    this.#isUsable = false;
    this.#isClosed = true;
    await this.#worker?.terminate();
  }

  #running(): Worker | null {
    if (!this.#isUsable) return null;
    try {
      this.#worker ??= this.#start();
    } catch {
      // A program may be forbidden to have threads.
      this.#isUsable = false;
    }
    return this.#worker;
  }

  #start(): Worker {
    const worker = new Worker(this.#program, { workerData: this.#settings });
    worker.on('message', ({ id, outcome }: UploadAnswer) => {
      const owed = this.#owed.get(id);
      this.#owed.delete(id);
      if (outcome === null) owed?.resolve(null);
      else if ('error' in outcome) owed?.reject(toServiceError(outcome.error));
      else owed?.resolve(fromBinary(SubmitBatchResponseSchema, outcome.response));
      if (this.#owed.size === 0) worker.unref();
    });
    worker.on('error', () => {
      this.#isUsable = false;
    });
    worker.on('exit', () => this.#ended());
    return worker;
  }

  #ended(): void {
    this.#isUsable = false;
    for (const { resolve, reject } of this.#owed.values()) {
      if (this.#isClosed) reject(closedMeanwhile());
      else resolve(null);
    }
    this.#owed.clear();
  }
}

function closedMeanwhile(): RuntimeError {
  const message = 'The connection to the training runtime was closed while a batch was sent';
  return new RuntimeError({ reason: ErrorReason.CANCELLED, message });
}

/** The program of the thread: a source beside sources, and a file of its own beside what the package is built to. */
function programBeside(url: string): URL {
  return new URL(url.endsWith('.ts') ? './upload-worker.ts' : './upload-worker.js', url);
}
