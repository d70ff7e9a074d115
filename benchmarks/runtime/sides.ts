import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { startRuntime } from '../../apps/gpu-runtime/test/runtime-process.ts';

/** A runtime in a separate process. */
export interface RuntimeSide {
  /** `host:port` of its gRPC server. */
  readonly address: string;
  /** Absent where none is required. */
  readonly apiKey?: string;
  close(): Promise<unknown>;
}

/** The weights that all sides begin with. */
export const weightFile: string = path.join(
  import.meta.dirname,
  '../../packages/runtime-cpu/models/tiny-chat.safetensors',
);

/** Starts the embedded runtime. */
export async function startEmbedded(folder: string): Promise<RuntimeSide> {
  const child = fork(path.join(import.meta.dirname, 'embedded-process.ts'), [path.join(folder, 'embedded')]);
  const [{ address, apiKey }] = await once(child, 'message');
  const close = async (): Promise<void> => {
    child.send('close');
    await once(child, 'exit');
  };
  return { address, apiKey, close };
}

/** Starts the GPU runtime on one thread of the CPU, with the embedded runtime's model. */
export async function startGpu(python: string, folder: string): Promise<RuntimeSide> {
  const flags = ['--model', `tiny-chat=${weightFile}`, '--checkpoints', path.join(folder, 'gpu')];
  const { address, end } = await startRuntime(python, flags);
  return { address, close: () => end('SIGTERM') };
}
