import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { FakeTinkerServer } from '../src/testing/index.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** The runtime in a separate process. */
export interface TinkerRuntimeProcess {
  /** `host:port` of its gRPC server. */
  readonly address: string;
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/** Starts `main.ts` and waits until it is ready. */
export async function startProcess(
  { url, apiKey }: Pick<FakeTinkerServer, 'url' | 'apiKey'>,
  flags: readonly string[],
): Promise<TinkerRuntimeProcess> {
  const args = ['--conditions=@agentlightning/source', main, '--server', url, ...flags];
  const environment = { ...process.env, TINKER_API_KEY: apiKey };
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'], env: environment });
  const exited = once(child, 'exit');
  const [line]: string[] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), exited]);
  const { address }: { address: string } = JSON.parse(line ?? '');
  return { address, end: (signal) => endProcess(child, exited, signal) };
}

async function endProcess(child: ChildProcess, exited: Promise<unknown>, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  await exited;
}
