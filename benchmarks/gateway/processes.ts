import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** What a gateway's process has used so far. */
export interface Usage {
  readonly cpuMs: number;
  readonly rssBytes: number;
  /** What JavaScript holds, after collecting garbage. */
  readonly heapBytes: number;
  readonly spanCount: number;
}

/** A gateway in a process of its own. */
export interface GatewayProcess {
  /** Base URLs, one for each attempt. */
  readonly urls: readonly string[];
  usage(): Promise<Usage>;
  close(): Promise<void>;
}

/** Starts the model server; its base URL. */
export async function startUpstream(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const child = start('upstream.ts', []);
  const { port } = await message<{ readonly port: number }>(child);
  return { url: `http://127.0.0.1:${port}/v1`, close: () => closed(child) };
}

/** Starts a gateway whose store is a file. */
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
    close: () => closed(child),
  };
}

function start(file: string, args: readonly string[]): ChildProcess {
  return fork(path.join(import.meta.dirname, file), args, { execArgv: ['--expose-gc', ...process.execArgv] });
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
