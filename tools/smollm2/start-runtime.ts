import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';

const sources = path.join(import.meta.dirname, '../../apps/gpu-runtime/src');

/** The first line of the runtime's output. */
const readyLine = z.object({ address: z.string() });

/** The Python runtime in a separate process. */
export interface StartedRuntime {
  /** `host:port` of its gRPC server. */
  readonly address: string;
  /** Waits for the operation in progress, then stops the runtime. */
  stop(): Promise<void>;
}

/**
 * Starts `agentlightning-runtime serve` on the CPU, on free ports, and waits until it is ready. It ends with this
 * process, whatever happens.
 */
export async function startRuntime(python: string, flags: readonly string[]): Promise<StartedRuntime> {
  const ports = ['--port', '0', '--inference-port', '0', '--device', 'cpu', '--until-stdin-ends'];
  const child = spawn(
    python,
    ['-m', 'agentlightning_runtime', 'serve', ...ports, '--log-level', 'warning', ...flags],
    // A separate process group: Ctrl+C stops the training, which still needs the runtime to end its step.
    { stdio: ['pipe', 'pipe', 'inherit'], detached: true, env: { ...process.env, PYTHONPATH: sources } },
  );
  const exited = once(child, 'exit');
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    exited.then(([code]) => Promise.reject(new Error(`The runtime ended with exit code ${code}; its log says why.`))),
  ])) as [string];
  const { address } = readyLine.parse(JSON.parse(line));
  return {
    address,
    stop: async () => {
      child.stdin.end();
      await exited;
    },
  };
}
