import { appendFile, mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { JsonObject } from '@agentlightning/core';

/** An event of a run with its number, from 1. */
export interface NumberedEvent {
  readonly number: number;
  readonly event: JsonObject;
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
  async append(event: JsonObject): Promise<void> {
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

  /** The events after a number. */
  async read(after: number): Promise<readonly NumberedEvent[]> {
    const text = await readFile(this.#file, 'utf8').catch(() => '');
    // A line without an end is being written, or was when the server was killed.
    const lines = text.split('\n').slice(0, -1);
    return lines.slice(after).flatMap((line, index) => {
      const event = parsed(line);
      return event === null ? [] : [{ number: after + index + 1, event }];
    });
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

/** Null for a line that was cut off when the server was killed. */
function parsed(line: string): JsonObject | null {
  try {
    return JSON.parse(line) as JsonObject;
  } catch {
    return null;
  }
}
