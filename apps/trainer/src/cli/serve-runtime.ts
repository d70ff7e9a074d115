import { startCpuRuntime } from '@agentlightning/runtime-cpu';
import { serverLog } from './server-log.ts';
import { untilStopped } from './until-stopped.ts';

/** The flags of `agl runtime`. */
export interface RuntimeFlags {
  readonly dir: string;
  readonly port: number;
  readonly inferencePort: number;
}

/** Serves the embedded runtime until the process is stopped. */
export async function serveRuntime({ dir, port, inferencePort }: RuntimeFlags): Promise<void> {
  const log = serverLog('agl-runtime');
  const apiKey = process.env['AGL_RUNTIME_KEY'];
  const options = { checkpointDir: dir, port, inferencePort, ...(apiKey === undefined ? {} : { apiKey }) };
  const runtime = await startCpuRuntime(options);
  const { address, inferenceUrl: inference } = runtime;
  log.info({ address, inference, key: apiKey !== undefined }, 'runtime is up');
  // Before anybody is told that it is up, and may stop it.
  const stopped = untilStopped(() => runtime.close());
  process.stdout.write(`${JSON.stringify({ event: 'ready', address, inference })}\n`);
  await stopped;
  log.info('runtime has stopped');
}
