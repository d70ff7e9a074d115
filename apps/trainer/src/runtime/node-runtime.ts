import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { randomApiKey, writeKeyFile } from '@agentlightning/runtime/internal/serving';
import { type LaunchedRuntime, launchRuntime, type RuntimeCommand } from './launch-runtime.ts';

/** A runtime that is a program of a package. */
export interface NodeRuntime
  extends Pick<RuntimeCommand, 'name' | 'environment' | 'startTimeoutMs' | 'closeTimeoutMs'> {
  /** The file of the program. */
  readonly entry: string;
  /** Its flags, without port and key. */
  readonly flags: readonly string[];
}

/**
 * Starts a runtime of this repository in a separate process. It reads its API key from a file that only the current user can read.
 *
 * @throws AgentLightningError RUNTIME_UNAVAILABLE when it does not start
 */
export async function launchNodeRuntime({ entry, flags, ...command }: NodeRuntime): Promise<LaunchedRuntime> {
  const apiKey = randomApiKey();
  const keyFolder = await mkdtemp(path.join(tmpdir(), 'agl-key-'));
  const keyFile = path.join(keyFolder, 'runtime.key');
  await writeKeyFile(keyFile, apiKey);
  const own = ['--port', '0', '--key-file', keyFile];
  try {
    return await launchRuntime({
      ...command,
      command: [process.execPath, ...resolutionFlags(process.execArgv), entry, ...own, ...flags],
      apiKey,
      remedy: 'Resume from the last checkpoint with `agl train --resume <run>`, which restarts the runtime.',
    });
  } finally {
    await rm(keyFolder, { recursive: true, force: true });
  }
}

/** The flags of this process that affect module resolution. Others, such as `--eval`, do not apply to its child processes. */
export function resolutionFlags(flags: readonly string[]): readonly string[] {
  return flags.flatMap((flag, index) => {
    if (flag.startsWith('--conditions=')) return [flag];
    return flag === '--conditions' || flag === '-C' ? flags.slice(index, index + 2) : [];
  });
}
