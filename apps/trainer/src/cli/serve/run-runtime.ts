import path from 'node:path';
import { writeKeyFile } from '@agentlightning/runtime/internal/serving';
import { startCpuRuntime } from '@agentlightning/runtime-cpu';
import { serverLog } from './server-log.ts';
import { untilStopped } from './until-stopped.ts';

/** The flags of `agl runtime`. */
export interface RuntimeFlags {
  readonly dir: string;
  readonly port: number;
  readonly inferencePort: number;
}

/**
 * Serves the embedded runtime until the process is stopped. Without `AGL_RUNTIME_KEY`, it writes a random API key to
 * `runtime.key` in the checkpoint folder, readable by this user only.
 */
export async function runRuntime({ dir, port, inferencePort }: RuntimeFlags): Promise<void> {
  const log = serverLog('agl-runtime');
  const given = process.env['AGL_RUNTIME_KEY'];
  const options = { checkpointDir: dir, port, inferencePort, ...(given === undefined ? {} : { apiKey: given }) };
  const runtime = await startCpuRuntime(options);
  const { address, inferenceUrl: inference, apiKey } = runtime;
  const keyFile = given === undefined ? path.resolve(dir, 'runtime.key') : null;
  if (keyFile !== null) await writeKeyFile(keyFile, apiKey);
  log.info({ address, inference, ...(keyFile === null ? {} : { keyFile }) }, 'runtime is up');
  // Before the ready line, after which a signal may arrive.
  const stopped = untilStopped(() => runtime.close());
  process.stdout.write(
    `${JSON.stringify({ type: 'ready', address, inference, ...(keyFile === null ? {} : { keyFile }) })}\n`,
  );
  await stopped;
  log.info('runtime has stopped');
}
