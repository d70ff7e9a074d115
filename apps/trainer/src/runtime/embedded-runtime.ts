import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { randomApiKey, writeKeyFile } from '@agentlightning/runtime/serving';
import { environmentVariables } from '../config/environment.ts';
import { type LaunchedRuntime, launchRuntime } from './launch-runtime.ts';
import { resolutionFlags } from './resolution-flags.ts';

/**
 * Starts the embedded CPU runtime in a separate process. It reads its API key from a file that only the current user can read.
 *
 * @param options.checkpointDir - its checkpoint directory
 * @throws AgentLightningError RUNTIME_UNAVAILABLE when it does not start
 */
export async function launchEmbeddedRuntime(options: { readonly checkpointDir: string }): Promise<LaunchedRuntime> {
  const entry = fileURLToPath(import.meta.resolve('@agentlightning/runtime-cpu/main'));
  const apiKey = randomApiKey();
  const keyFolder = await mkdtemp(path.join(tmpdir(), 'agl-key-'));
  const keyFile = path.join(keyFolder, 'runtime.key');
  await writeKeyFile(keyFile, apiKey);
  const flags = ['--port', '0', '--dir', options.checkpointDir, '--key-file', keyFile];
  try {
    return await launchRuntime({
      name: 'the embedded runtime',
      command: [process.execPath, ...resolutionFlags(process.execArgv), entry, ...flags],
      environment: environmentVariables(),
      apiKey,
      // Slow on a busy machine.
      startTimeoutMs: 60_000,
      closeTimeoutMs: 5000,
      remedy: 'Resume from the last checkpoint with `agl train --resume <run>`, which restarts the runtime.',
    });
  } finally {
    await rm(keyFolder, { recursive: true, force: true });
  }
}
