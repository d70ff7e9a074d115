import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { RawConnection, rawRequest, sharedNowMs } from './raw-client.ts';
import type { Ticking } from './ticker.ts';

/** Result of a load. Latencies in milliseconds. */
export interface Load {
  readonly perSecond: number;
  readonly count: number;
  readonly latencies: readonly number[];
  /** Latency until the first byte of the response. */
  readonly firstBytes: readonly number[];
  /** Time of every stream chunk from the model to the client. */
  readonly chunkLatencies: readonly number[];
  /** Time of the first chunk of each stream. */
  readonly firstChunkLatencies: readonly number[];
}

/** Requests, used in rotation. */
export interface Requests {
  readonly port: number;
  readonly bytes: readonly Buffer[];
}

/** The request of the benchmark: 2 kB of prompt. */
export function requestsTo(urls: readonly string[], more: object = {}, key: string | null = null): Requests {
  const body = { model: 'benchmark', messages: [{ role: 'user', content: 'y'.repeat(2000) }], ...more };
  const requests = urls.map((url) => rawRequest(url, body, key));
  return { port: requests[0]?.port ?? 0, bytes: requests.map(({ bytes }) => bytes) };
}

/** Calls in a closed loop: each of `inFlight` clients sends its next call after a response. */
export async function closedLoop(requests: Requests, at: { inFlight: number; seconds: number }): Promise<Load> {
  const collected = new Collected();
  const beganMs = sharedNowMs();
  const endMs = beganMs + at.seconds * 1000;
  const caller = async (index: number): Promise<void> => {
    const connection = new RawConnection(requests.port);
    const bytes = bytesFor(requests, index);
    while (sharedNowMs() < endMs) {
      const sentMs = sharedNowMs();
      collected.add(sentMs, await connection.send(bytes));
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: at.inFlight }, (_, index) => caller(index)));
  return collected.load(sharedNowMs() - beganMs);
}

/** Maximum start time of the ticker thread, in milliseconds. */
const startMs = 500;

/** Calls at a fixed rate, independent of responses; latencies count from the scheduled time. */
export async function openLoop(requests: Requests, at: { perSecond: number; seconds: number }): Promise<Load> {
  const collected = new Collected();
  const idle: RawConnection[] = [];
  const all: RawConnection[] = [];
  const running: Promise<void>[] = [];
  const call = async (index: number, dueMs: number): Promise<void> => {
    const connection = idle.pop() ?? new RawConnection(requests.port);
    if (!all.includes(connection)) all.push(connection);
    collected.add(dueMs, await connection.send(bytesFor(requests, index)));
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
  readonly #chunkLatencies: number[] = [];
  readonly #firstChunkLatencies: number[] = [];

  add(sentMs: number, response: Awaited<ReturnType<RawConnection['send']>>): void {
    this.#latencies.push(response.endMs - sentMs);
    this.#firstBytes.push(response.firstByteMs - sentMs);
    if (response.chunkMs[0] !== undefined) this.#firstChunkLatencies.push(response.chunkMs[0]);
    for (const latency of response.chunkMs) this.#chunkLatencies.push(latency);
  }

  load(elapsedMs: number): Load {
    return {
      perSecond: (this.#latencies.length * 1000) / elapsedMs,
      count: this.#latencies.length,
      latencies: this.#latencies,
      firstBytes: this.#firstBytes,
      chunkLatencies: this.#chunkLatencies,
      firstChunkLatencies: this.#firstChunkLatencies,
    };
  }
}
