import { parseFlags, serverFlags, serverOptionsOf, wrongFlag } from '@agentlightning/runtime/internal/serving';
import { baseModels } from '../base-models.ts';
import type { CpuRuntimeOptions } from './start-cpu-runtime.ts';

const flagOptions = {
  dir: { type: 'string', default: '.agl/checkpoints' },
  'base-model': { type: 'string', multiple: true, default: [] as string[] },
  ...serverFlags,
} as const;

/**
 * The flags of the runtime's process: those of every runtime, and
 *
 * - `--dir`: parent folder of checkpoints, `.agl/checkpoints` by default
 * - `--base-model`: offers this base model; repeatable, all by default
 *
 * @throws AgentLightningError CONFIG when a flag is unknown or its value is invalid
 */
export function readProcessFlags(args: readonly string[]): CpuRuntimeOptions {
  const flags = parseFlags(args, flagOptions);
  const names = flags['base-model'];
  return {
    checkpointDir: flags.dir,
    ...(names.length > 0 ? { baseModels: names.map(baseModelOf) } : {}),
    ...serverOptionsOf(flags),
  };
}

function baseModelOf(name: string): (typeof baseModels)[number] {
  const model = baseModels.find((candidate) => candidate.name === name);
  if (model !== undefined) return model;
  throw wrongFlag(
    `--base-model is "${name}"`,
    `The base models are ${baseModels.map((known) => known.name).join(', ')}.`,
  );
}
