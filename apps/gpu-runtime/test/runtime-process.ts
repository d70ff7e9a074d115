import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { type PythonEnvironment, preparePython, pythonEnvironments } from '../../../tools/python-environment.ts';

const sources = path.join(import.meta.dirname, '../src');

/** The Python interpreter with torch and the other packages, or the reason for its absence. */
export const environment: PythonEnvironment = await preparePython(pythonEnvironments['agentlightning-runtime']);

/** The Python runtime in a separate process. */
export interface RuntimeProcess {
  /** `host:port` of its gRPC server. */
  readonly address: string;
  /** Sends a signal and waits for the end; returns the exit code, null when the signal ended the process. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts `agentlightning-runtime serve` on the CPU, on free ports, and waits until it is ready. */
export async function startRuntime(
  python: string,
  flags: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<RuntimeProcess> {
  const serve = ['-m', 'agentlightning_runtime', 'serve', '--port', '0', '--inference-port', '0'];
  // One thread: on few cores more are slower, and results are bitwise reproducible.
  const device = ['--device', 'cpu', '--threads', '1', '--until-stdin-ends', '--log-level', 'warning'];
  const child = spawn(python, [...serve, ...device, ...flags], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, PYTHONPATH: sources, TOKENIZERS_PARALLELISM: 'false', HF_HUB_OFFLINE: '1', ...variables },
  });
  const exited = once(child, 'exit').then(([code]: (number | null)[]) => code ?? null);
  const [line]: string[] = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    exited.then((code) => Promise.reject(new Error(`The runtime ended with exit code ${code}; see its log above`))),
  ]);
  const { address }: { address: string } = JSON.parse(line ?? '');
  return { address, end: (signal) => endProcess(child, exited, signal) };
}

async function endProcess(
  child: ChildProcess,
  exited: Promise<number | null>,
  signal: NodeJS.Signals,
): Promise<number | null> {
  child.kill(signal);
  return exited;
}
