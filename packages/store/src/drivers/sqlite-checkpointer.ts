import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** What the thread works with. */
export interface CheckpointWorkerData {
  readonly path: string;
  /** How safely it writes, as the connection that commits does. */
  readonly synchronous: 'NORMAL' | 'FULL';
}

/** What the thread is asked. */
export type CheckpointRequest = 'checkpoint' | 'close';

/** How a checkpoint went. */
export type CheckpointAnswer = 'done' | 'failed';

/** How often the thread is asked. */
export interface SqliteCheckpointerOptions extends CheckpointWorkerData {
  /** After how many rows. @default 8000 about 12 MiB of small spans with their indices */
  readonly rowsPerCheckpoint?: number;
  /** The program of the thread. @default the one beside this file */
  readonly program?: URL;
}

/**
 * Moves what was written from SQLite's log into its file by another thread, so that the one that serves everybody
 * does not wait for the disk. The thread begins when much is written. A store that writes little, or whose program was
 * bundled without the thread's, does it after a commit, as SQLite does by itself.
 */
export class SqliteCheckpointer {
  readonly #options: SqliteCheckpointerOptions;
  readonly #rowsPerCheckpoint: number;
  #worker: Worker | null = null;
  #isUsable = true;
  #isBusy = false;
  #rows = 0;

  constructor(options: SqliteCheckpointerOptions) {
    this.#options = options;
    this.#rowsPerCheckpoint = options.rowsPerCheckpoint ?? 8000;
  }

  /** Whether the thread is at work, and the log may grow meanwhile. */
  get isRunning(): boolean {
    return this.#worker !== null && this.#isUsable;
  }

  /** Notes that rows were committed, and has them moved when there are many. */
  committed(rows: number): void {
    this.#rows += rows;
    if (!this.#isUsable || this.#isBusy || this.#rows < this.#rowsPerCheckpoint) return;
    this.#rows = 0;
    this.#isBusy = true;
    this.#worker ??= this.#start();
    this.#worker.postMessage('checkpoint' satisfies CheckpointRequest);
  }

  /** Ends the thread, when it has done what it is at. */
  async close(): Promise<void> {
    this.#isUsable = false;
    const worker = this.#worker;
    if (worker === null) return;
    const ended = once(worker, 'exit');
    worker.ref();
    worker.postMessage('close' satisfies CheckpointRequest);
    await ended;
  }

  #start(): Worker {
    const { path, synchronous, program = programBeside(import.meta.url) } = this.#options;
    const worker = new Worker(program, { workerData: { path, synchronous } satisfies CheckpointWorkerData });
    worker.on('message', () => {
      this.#isBusy = false;
    });
    worker.on('error', () => {
      this.#isUsable = false;
    });
    worker.on('exit', () => {
      this.#worker = null;
    });
    worker.unref();
    return worker;
  }
}

/** The program of the thread: a source beside sources, and a file of its own beside what the package is built to. */
function programBeside(url: string): URL {
  return new URL(url.endsWith('.ts') ? './sqlite-checkpoint-worker.ts' : './sqlite-checkpoint-worker.js', url);
}
