import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ResolvedRuntime } from '../src/config/sections/runtime-config.ts';
import { launchEmbeddedRuntime } from '../src/runtime/embedded-runtime.ts';

/**
 * Starts a CPU runtime for all trainings of this process that do not need one each: most of a small training is the start of
 * its runtime. It ends with this process. Runs of it need different ids.
 */
async function startSharedRuntime(): Promise<ResolvedRuntime> {
  const checkpointDir = mkdtempSync(path.join(tmpdir(), 'agl-shared-runtime-'));
  process.once('exit', () => rmSync(checkpointDir, { recursive: true, force: true }));
  const { address, apiKey } = await launchEmbeddedRuntime({ checkpointDir });
  return { type: 'grpc', address, apiKey, model: 'tiny-random' };
}

/** The runtime that trainings in this process share. */
export const sharedRuntime: ResolvedRuntime = await startSharedRuntime();
