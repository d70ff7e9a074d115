import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';

/** In /proc, times are in hundredths of a second. */
const tickMs = 10;

/** What a gateway's process holds. */
export interface Usage {
  readonly rssBytes: number;
  /** What JavaScript holds, after collecting garbage. */
  readonly heapBytes: number;
  readonly spanCount: number;
}

/** A gateway in a separate process. */
export interface GatewayProcess {
  /** Base URLs, one for each attempt. */
  readonly urls: readonly string[];
  /** Collects garbage first, which takes time: not to be asked while something is measured. */
  usage(): Promise<Usage>;
  /** The CPU time that it has used so far, in milliseconds. */
  cpuMs(): number;
  close(): Promise<void>;
}

/** Starts the model server; its base URL. */
export async function startUpstream(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const child = start('upstream.ts', []);
  const { port } = await message<{ readonly port: number }>(child);
  return { url: `http://127.0.0.1:${port}/v1`, close: () => closed(child) };
}

/** Starts a gateway whose store is a file, with Node's default flags. */
export async function startGateway(options: {
  readonly file: string;
  readonly upstreamUrl: string;
  readonly attemptCount: number;
}): Promise<GatewayProcess> {
  const { file, upstreamUrl, attemptCount } = options;
  const child = start('gateway-process.ts', [file, upstreamUrl, String(attemptCount)]);
  const { urls } = await message<{ readonly urls: readonly string[] }>(child);
  return {
    urls,
    usage: () => {
      const answer = message<Usage>(child);
      child.send('usage');
      return answer;
    },
    cpuMs: () => cpuMsOf(child),
    close: () => closed(child),
  };
}

/** The minimal recording proxy that the gateway is compared with. */
export interface FloorProxy {
  /** The base URL for calls. */
  readonly url: string;
  close(): Promise<void>;
}

/** Starts the minimal recording proxy on its own database file. */
export async function startFloorProxy(file: string, upstreamUrl: string): Promise<FloorProxy> {
  const child = start('floor-proxy.ts', [file, upstreamUrl]);
  const { url } = await message<{ readonly url: string }>(child);
  return { url, close: () => closed(child) };
}

/** The CPU time that a process has used so far, all its threads, in milliseconds. */
export function cpuMsOf({ pid }: Pick<ChildProcess, 'pid'>): number {
  const fields =
    readFileSync(`/proc/${pid ?? 0}/stat`, 'utf8')
      .split(') ')[1]
      ?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

function start(file: string, args: readonly string[]): ChildProcess {
  const execArgv = ['--expose-gc', ...process.execArgv];
  return fork(path.join(import.meta.dirname, file), args, { execArgv });
}

async function message<TMessage>(child: ChildProcess): Promise<TMessage> {
  const stopWatching = new AbortController();
  const ended = once(child, 'exit', { signal: stopWatching.signal }).then(([code]): never => {
    throw new Error(`a process of the benchmark ended with code ${String(code)}`);
  });
  try {
    const [received] = await Promise.race([once(child, 'message'), ended]);
    return received;
  } finally {
    stopWatching.abort();
    ended.catch(() => undefined);
  }
}

async function closed(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.send('close');
  await ended;
}
