import type { Worker } from 'node:worker_threads';
import { newThread, programBeside } from '../own-thread.ts';

/** What the thread works with. */
export interface CheckpointWorkerData {
  readonly path: string;
  /** How safely it writes, as the connection that commits does. */
  readonly synchronous: 'NORMAL' | 'FULL';
}

/** What the thread is asked. */
export type CheckpointRequest = 'checkpoint' | 'close';

/** How a checkpoint went. */
export interface Checkpoint {
  /** Which log it is: another number when it has begun anew. */
  readonly logId: number;
  /** How many pages the log holds. */
  readonly logPages: number;
  /** How many of them are in the file. */
  readonly movedPages: number;
}

/** How a checkpoint went; null when it failed. */
export type CheckpointAnswer = Checkpoint | null;

/** How often the thread is asked. */
export interface SqliteCheckpointerOptions extends CheckpointWorkerData {
  /** After how many pages that were added to the log, about: fewer are moved and synced more often. @default 4096 which are 16 MiB */
  readonly pagesPerCheckpoint?: number;
  /** How many pages the log holds before it is begun anew. @default 16384 which are 64 MiB */
  readonly longestLogPages?: number;
  /** The program of the thread. @default the one beside this file */
  readonly program?: URL;
}

/** Bytes of a page of SQLite's files. */
const pageBytes = 4096;

/** How many pages take no longer to move than they would while writes go on. */
const fewPages = 64;

/**
 * Moves what was written from SQLite's log into its file by another thread, so that the one that serves everybody
 * does not wait for the disk. The thread begins when much is written. A store that writes little, or whose program was
 * bundled without the thread's, does it after a commit, as SQLite does by itself.
 */
export class SqliteCheckpointer {
  readonly #options: SqliteCheckpointerOptions;
  readonly #pagesPerCheckpoint: number;
  readonly #longestLogPages: number;
  readonly #answers: ((answer: CheckpointAnswer) => void)[] = [];
  #worker: Worker | null = null;
  #isUsable = true;
  #isBusy = false;
  /** Bytes that were committed since the thread was asked, and what a byte has come to in pages of the log so far. */
  #bytes = 0;
  #pagesPerByte = 2 / pageBytes;
  /** Bytes that were committed since the thread said how long the log is. */
  #newBytes = 0;
  #logId: number | null = null;
  #logPages = 0;
  /** From how many pages of the log on writes wait until it can begin anew. */
  #roomFromPages: number;
  /** About how many pages there were to move when the thread was asked last. */
  #askedPages = 0;

  constructor(options: SqliteCheckpointerOptions) {
    this.#options = options;
    this.#pagesPerCheckpoint = options.pagesPerCheckpoint ?? 4096;
    this.#longestLogPages = options.longestLogPages ?? 16_384;
    this.#roomFromPages = this.#longestLogPages;
  }

  /** Whether the thread is at work, and the log may grow meanwhile. */
  get isRunning(): boolean {
    return this.#worker !== null && this.#isUsable;
  }

  /** Notes that about so many bytes were committed, and has them moved when there are many. */
  committed(bytes: number): void {
    this.#bytes += bytes;
    this.#newBytes += bytes;
    // When the log has become long, the next write sees to it.
    if (this.#isUsable && !this.#isLogLong && this.#pagesLeft >= this.#pagesPerCheckpoint) this.#moveMeanwhile();
  }

  /**
   * To be waited for before a transaction that writes. The log begins anew only when all of it is in the file, which
   * never comes about while writes keep coming: when it has become long, writes wait for the little that is left. Before
   * they do, what is left is moved while they go on, as long as that makes it less: a wait of 2 ms instead of 25 where a
   * gateway writes 10 MB a second. Says whether the log begins anew now.
   */
  async makeRoom(): Promise<boolean> {
    if (!this.#isLogLong || !this.isRunning || this.#isBusy) return false;
    if (this.#pagesLeft > fewPages && this.#pagesLeft < this.#askedPages / 2) {
      this.#moveMeanwhile();
      return false;
    }
    this.#askedPages = 0;
    this.#bytes = 0;
    const asked = this.#checkpoint();
    // Somebody waits for the answer, and it may be all that keeps the process alive.
    this.#worker?.ref();
    const answer = await asked;
    this.#worker?.unref();
    if (answer !== null) this.#learn(answer);
    const isAllMoved = answer !== null && answer.movedPages === answer.logPages;
    // Somebody else reads what is in the log, or writes to it: there is no use in waiting before every write.
    this.#roomFromPages = isAllMoved ? this.#longestLogPages : this.#logPages + this.#pagesPerCheckpoint;
    if (isAllMoved) this.#logPages = 0;
    return isAllMoved;
  }

  /** Ends the thread, when it has done what it is at; one that could not start has ended by itself. */
  async close(): Promise<void> {
    this.#isUsable = false;
    const worker = this.#worker;
    if (worker === null) return;
    // Not by `once` of node:events, which rejects when the thread fails: one that is gone has ended, however it did.
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    worker.ref();
    worker.postMessage('close' satisfies CheckpointRequest);
    await ended;
  }

  get #isLogLong(): boolean {
    return this.#logPages >= this.#roomFromPages;
  }

  /** About how many pages were added to the log since the thread was asked. */
  get #pagesLeft(): number {
    return this.#bytes * this.#pagesPerByte;
  }

  /** Has what there is moved while writes go on. */
  #moveMeanwhile(): void {
    if (this.#isBusy) return;
    this.#askedPages = this.#pagesLeft;
    this.#bytes = 0;
    this.#isBusy = true;
    void this.#checkpoint().then((answer) => {
      this.#isBusy = false;
      if (answer !== null) this.#learn(answer);
    });
  }

  /** Notes how long the log is, and how many pages bytes come to: rows of a kind are written in the same way again. */
  #learn({ logId, logPages }: Checkpoint): void {
    // It begins anew by itself with the first write after all of it was moved, when nobody reads what is in it.
    const isSame = logId === this.#logId && logPages >= this.#logPages;
    const added = isSame ? logPages - this.#logPages : logPages;
    // The first time, the log may hold more than these bytes, or less.
    if (this.#logId !== null && added > 0 && this.#newBytes > 0) {
      this.#pagesPerByte = Math.min(20, Math.max(0.5, (added * pageBytes) / this.#newBytes)) / pageBytes;
    }
    this.#logId = logId;
    this.#logPages = logPages;
    this.#newBytes = 0;
  }

  #checkpoint(): Promise<CheckpointAnswer> {
    return new Promise((resolve) => {
      this.#answers.push(resolve);
      this.#worker ??= this.#start();
      this.#worker.postMessage('checkpoint' satisfies CheckpointRequest);
    });
  }

  #start(): Worker {
    const { path, synchronous, program = programBeside(import.meta.url, 'sqlite-checkpoint-worker') } = this.#options;
    const worker = newThread(program, { workerData: { path, synchronous } satisfies CheckpointWorkerData });
    worker.on('message', (answer: CheckpointAnswer) => this.#answers.shift()?.(answer));
    worker.on('error', () => {
      this.#isUsable = false;
    });
    worker.on('exit', () => {
      this.#worker = null;
      for (const answer of this.#answers.splice(0)) answer(null);
    });
    worker.unref();
    return worker;
  }
}
