import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { RawConnection, sharedNowMs } from './raw-client.ts';
import type { Ticking } from './ticker.ts';

/** What a load came to. Latencies in milliseconds. */
export interface Load {
  readonly perSecond: number;
  readonly count: number;
  readonly latencies: readonly number[];
  /** To the first byte of the answer. */
  readonly firstBytes: readonly number[];
  /** Of every part of a stream that says when it was written. */
  readonly passages: readonly number[];
  /** Of the first part of each stream. */
  readonly firstPassages: readonly number[];
}

/** Requests, used in turn. */
export interface Requests {
  readonly port: number;
  readonly bytes: readonly Buffer[];
}

/** Calls in a closed loop: each of `inFlight` callers calls again when it has its answer. */
export async function closedLoop(requests: Requests, at: { inFlight: number; seconds: number }): Promise<Load> {
  const collected = new Collected();
  const beganMs = sharedNowMs();
  const endMs = beganMs + at.seconds * 1000;
  const caller = async (index: number): Promise<void> => {
    const connection = new RawConnection(requests.port);
    const bytes = bytesFor(requests, index);
    while (sharedNowMs() < endMs) {
      const sentMs = sharedNowMs();
      collected.add(sentMs, await connection.ask(bytes));
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: at.inFlight }, (_, index) => caller(index)));
  return collected.load(sharedNowMs() - beganMs);
}

/** How long the thread that says when calls are due takes to start at most, in milliseconds. */
const startMs = 500;

/** Calls at a fixed rate, whether or not earlier ones are answered; latencies count from when a call was due. */
export async function openLoop(requests: Requests, at: { perSecond: number; seconds: number }): Promise<Load> {
  const collected = new Collected();
  const idle: RawConnection[] = [];
  const all: RawConnection[] = [];
  const running: Promise<void>[] = [];
  const call = async (index: number, dueMs: number): Promise<void> => {
    const connection = idle.pop() ?? new RawConnection(requests.port);
    if (!all.includes(connection)) all.push(connection);
    collected.add(dueMs, await connection.ask(bytesFor(requests, index)));
    idle.push(connection);
  };
  const { perSecond, seconds } = at;
  const beginsMs = sharedNowMs() + startMs;
  const ticking: Ticking = { perSecond, count: perSecond * seconds, beginsMs };
  const ticker = new Worker(new URL('./ticker.ts', import.meta.url), { workerData: ticking });
  ticker.on('message', (dueMs: number) => running.push(call(running.length, dueMs)));
  await once(ticker, 'exit');
  await Promise.all(running);
  for (const connection of all) connection.close();
  return collected.load(sharedNowMs() - beginsMs);
}

function bytesFor({ bytes }: Requests, index: number): Buffer {
  return bytes[index % bytes.length] ?? Buffer.alloc(0);
}

class Collected {
  readonly #latencies: number[] = [];
  readonly #firstBytes: number[] = [];
  readonly #passages: number[] = [];
  readonly #firstPassages: number[] = [];

  add(sentMs: number, answered: Awaited<ReturnType<RawConnection['ask']>>): void {
    this.#latencies.push(answered.endMs - sentMs);
    this.#firstBytes.push(answered.firstByteMs - sentMs);
    if (answered.passageMs[0] !== undefined) this.#firstPassages.push(answered.passageMs[0]);
    for (const passage of answered.passageMs) this.#passages.push(passage);
  }

  load(elapsedMs: number): Load {
    return {
      perSecond: (this.#latencies.length * 1000) / elapsedMs,
      count: this.#latencies.length,
      latencies: this.#latencies,
      firstBytes: this.#firstBytes,
      passages: this.#passages,
      firstPassages: this.#firstPassages,
    };
  }
}

/** The value that a share of all are not above; of none, NaN. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
