import { appendFile, mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import { type RunEvent, runEventSchema } from '@agentlightning/core/protocol';

/** An event of a run with its number, from 1. */
export interface NumberedEvent {
  readonly number: number;
  readonly event: RunEvent;
}

/** The events of one run, in a file, so that clients can read them again from any of them. */
export class RunLog {
  readonly #file: string;
  /** Appends run one after the other. */
  #appended: Promise<void> = Promise.resolve();
  #waiting = new Set<() => void>();

  constructor(file: string) {
    this.#file = file;
  }

  /** Appends an event, and wakes readers. */
  async append(event: RunEvent): Promise<void> {
    const line = `${JSON.stringify({ ...event, time: Date.now() / 1000 })}\n`;
    this.#appended = this.#appended
      .catch(() => undefined)
      .then(async () => {
        await mkdir(path.dirname(this.#file), { recursive: true });
        await appendFile(this.#file, line);
      });
    await this.#appended;
    this.wake();
  }

  /** Reads the events after a number. */
  reader(after: number): RunLogReader {
    return new RunLogReader(this.#file, after);
  }

  /** Resolves at the next event, at a change of the run's status, or when the signal aborts. */
  async next(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake);
    });
  }

  /** Wakes all readers. */
  wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}

/** Bytes of a file that are read at a time. */
const pageBytes = 64 * 1024;

/** Reads the events of a run in order, with one page of the file in memory. */
export class RunLogReader {
  readonly #file: string;
  readonly #after: number;
  #position = 0;
  #number = 0;

  constructor(file: string, after: number) {
    this.#file = file;
    this.#after = after;
  }

  /** The next events that are in the file now. */
  async *read(): AsyncGenerator<NumberedEvent> {
    const file = await open(this.#file).catch(() => null);
    if (file === null) return;
    try {
      // A line without an end is being written, or was when the server was killed.
      let pending: Buffer[] = [];
      for (let offset = this.#position; ; ) {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(pageBytes), 0, pageBytes, offset);
        if (bytesRead === 0) return;
        offset += bytesRead;
        let page = buffer.subarray(0, bytesRead);
        for (let end = page.indexOf(10); end >= 0; end = page.indexOf(10)) {
          const line = Buffer.concat([...pending, page.subarray(0, end)]);
          pending = [];
          page = page.subarray(end + 1);
          this.#position += line.length + 1;
          this.#number += 1;
          const event = this.#number > this.#after ? parsed(line.toString()) : null;
          if (event !== null) yield { number: this.#number, event };
        }
        pending.push(page);
      }
    } finally {
      await file.close();
    }
  }
}

/** Null for a line that was cut off when the server was killed, or that another version has written. */
function parsed(line: string): RunEvent | null {
  try {
    return runEventSchema.safeParse(JSON.parse(line)).data ?? null;
  } catch {
    return null;
  }
}
