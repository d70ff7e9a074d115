import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { type PythonEnvironment, preparePython, pythonEnvironments } from '../../../tools/python-environment.ts';

const sources = path.join(import.meta.dirname, '../src');

/** The Python that has torch and the rest, or why there is none. */
export const environment: PythonEnvironment = await preparePython(pythonEnvironments['agentlightning-runtime']);

/** The Python runtime in a process of its own. */
export interface RuntimeProcess {
  /** `host:port` of its gRPC server. */
  readonly address: string;
  /** Sends a signal and waits for the end; gives the exit code, null when the signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts `agentlightning-runtime serve` on the CPU, on free ports, and waits until it is ready. */
export async function startRuntime(python: string, flags: readonly string[]): Promise<RuntimeProcess> {
  const serve = ['-m', 'agentlightning_runtime', 'serve', '--port', '0', '--inference-port', '0'];
  // One thread: on few cores several are slower, and results stay the same to the bit.
  const device = ['--device', 'cpu', '--threads', '1', '--until-stdin-ends', '--log-level', 'warning'];
  const child = spawn(python, [...serve, ...device, ...flags], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, PYTHONPATH: sources, TOKENIZERS_PARALLELISM: 'false', HF_HUB_OFFLINE: '1' },
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
