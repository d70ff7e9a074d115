import { Worker } from 'node:worker_threads';
import { sha256 } from './sha256.ts';

/** What the thread is asked. */
export interface HashRequest {
  readonly id: number;
  /** In shared memory. */
  readonly bytes: Uint8Array;
}

/** What the thread answers. */
export interface HashAnswer {
  readonly id: number;
  /** In base64. */
  readonly digest: string;
}

/** From how many bytes on the thread is asked: below, this one is done in a third of a millisecond. */
const threadFromBytes = 512 * 1024;

/** How much shared memory is kept for the next hash, in bytes. */
const keptBytes = 32 * 1024 * 1024;

/** A hash that the thread owes. */
interface Owed {
  readonly bytes: Uint8Array;
  readonly memory: SharedArrayBuffer;
  readonly settle: (digest: Uint8Array) => void;
}

/**
 * SHA-256 of much, in another thread. It gets the bytes through shared memory that is used again and again: Web Crypto
 * takes fresh memory for every copy, clears it on the thread that asks, and costs that five times as much. The thread
 * begins with the first large hash; where it cannot run (in a program that was bundled without it), this one computes.
 */
export class HashThread {
  readonly #program: URL;
  readonly #owed = new Map<number, Owed>();
  #worker: Worker | null = null;
  /** What no hash needs now. */
  #memory: SharedArrayBuffer | null = null;
  #isUsable = true;
  #lastId = 0;

  constructor(program: URL = programBeside(import.meta.url)) {
    this.#program = program;
  }

  /** The hash, 32 bytes. The bytes may be changed when this has returned its promise. */
  async sha256(bytes: Uint8Array): Promise<Uint8Array> {
    if (!this.#isUsable || bytes.byteLength < threadFromBytes) return sha256(bytes);
    return new Promise((settle) => {
      this.#worker ??= this.#start();
      // Somebody waits for the answer.
      this.#worker.ref();
      this.#lastId += 1;
      const memory = this.#takeMemory(bytes.byteLength);
      const shared = new Uint8Array(memory, 0, bytes.byteLength);
      shared.set(bytes);
      this.#owed.set(this.#lastId, { bytes: shared, memory, settle });
      this.#worker.postMessage({ id: this.#lastId, bytes: shared } satisfies HashRequest);
    });
  }

  /** Ends the thread. What it owes is computed here. */
  async close(): Promise<void> {
    this.#isUsable = false;
    await this.#worker?.terminate();
  }

  #takeMemory(byteLength: number): SharedArrayBuffer {
    const memory = this.#memory;
    if (memory === null || memory.byteLength < byteLength) return new SharedArrayBuffer(byteLength);
    this.#memory = null;
    return memory;
  }

  #start(): Worker {
    const worker = new Worker(this.#program);
    worker.on('message', ({ id, digest }: HashAnswer) => {
      const owed = this.#owed.get(id);
      this.#owed.delete(id);
      if (owed !== undefined && owed.memory.byteLength <= keptBytes) this.#memory = owed.memory;
      owed?.settle(Buffer.from(digest, 'base64'));
      if (this.#owed.size === 0) worker.unref();
    });
    worker.on('error', () => {
      this.#isUsable = false;
    });
    worker.on('exit', () => {
      this.#isUsable = false;
      for (const { bytes, settle } of this.#owed.values()) settle(sha256(bytes));
      this.#owed.clear();
    });
    return worker;
  }
}

/** The program of the thread: a source beside sources, and a file of its own beside what the package is built to. */
function programBeside(url: string): URL {
  return new URL(url.endsWith('.ts') ? './hash-worker.ts' : './hash-worker.js', url);
}
