import { fileURLToPath } from 'node:url';
import { environmentVariables } from '../config/environment.ts';
import type { LaunchedRuntime } from './launch-runtime.ts';
import { launchNodeRuntime } from './node-runtime.ts';

/**
 * Starts the embedded CPU runtime in a separate process.
 *
 * @param options.checkpointDir - its checkpoint directory
 * @throws AgentLightningError RUNTIME_UNAVAILABLE when it does not start
 */
export async function launchEmbeddedRuntime(options: { readonly checkpointDir: string }): Promise<LaunchedRuntime> {
  return await launchNodeRuntime({
    name: 'the embedded runtime',
    entry: fileURLToPath(import.meta.resolve('@agentlightning/runtime-cpu/main')),
    flags: ['--dir', options.checkpointDir],
    environment: environmentVariables(),
    // Slow on a busy machine.
    startTimeoutMs: 60_000,
    closeTimeoutMs: 5000,
  });
}
