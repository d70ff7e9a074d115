import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** The embedded runtime in a separate process. */
export interface CpuRuntimeProcess {
  /** `host:port` of its gRPC server. */
  readonly address: string;
  /** The base URL of its model API. */
  readonly inference: string;
  /** Its standard input; it ends when that does. */
  readonly stdin: Writable;
  /** Resolves with the exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>;
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/** Starts `main.ts` and waits until it is ready. */
export async function startProcess(flags: readonly string[]): Promise<CpuRuntimeProcess> {
  const { child, exited } = spawnMain(flags);
  child.stderr.pipe(process.stderr);
  const [line]: string[] = await once(createInterface({ input: child.stdout }), 'line');
  const { address, inference }: { address: string; inference: string } = JSON.parse(line ?? '');
  return {
    address,
    inference,
    stdin: child.stdin,
    exited,
    end: async (signal) => {
      child.kill(signal);
      await exited;
    },
  };
}

/** Runs `main.ts` with invalid flags and returns its output. */
export async function failToStart(flags: readonly string[]): Promise<{ code: number | null; stderr: string }> {
  const { child, exited } = spawnMain(flags);
  const stderr = await text(child.stderr);
  return { code: await exited, stderr };
}

function spawnMain(flags: readonly string[]): {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly exited: Promise<number | null>;
} {
  const args = ['--conditions=@agentlightning/source', main, ...flags];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  return { child, exited: once(child, 'exit').then(([code]) => code) };
}
