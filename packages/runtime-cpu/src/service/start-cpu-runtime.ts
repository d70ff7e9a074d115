import path from 'node:path';
import type { ServedRuntime, ServedRuntimeOptions } from '@agentlightning/runtime';
import { startRuntime } from '@agentlightning/runtime/internal/serving';
import { type BaseModel, baseModels } from '../base-models.ts';
import { vocabularySize } from '../text/vocabulary.ts';
import { CpuRuntimeEngine } from './cpu-runtime-engine.ts';
import type { ModelDirectory } from './model-directory.ts';

/** Options of the embedded runtime. It listens on loopback only. */
export interface CpuRuntimeOptions extends ServedRuntimeOptions {
  /** Parent folder of checkpoints, with a folder for each model; created if missing. */
  readonly checkpointDir: string;
  /** The base models offered to clients. @default all of this package */
  readonly baseModels?: readonly BaseModel[];
}

/** A running embedded runtime. */
export type CpuRuntime = ServedRuntime;

/**
 * Starts the embedded runtime in this process: gRPC for training, OpenAI's API for sampling.
 *
 * @throws AgentLightningError PORT_IN_USE when a port is taken; CONFIG when the API key is empty
 * @example
 * ```ts
 * const server = await startCpuRuntime({ checkpointDir: '.agl/checkpoints' });
 * const runtime = await connectRuntime({ address: server.address, apiKey: server.apiKey });
 * ```
 */
export async function startCpuRuntime(options: CpuRuntimeOptions): Promise<CpuRuntime> {
  const models: ModelDirectory = new Map();
  return await startRuntime(
    {
      name: 'the embedded runtime',
      models,
      rules: { modelName: 'the embedded model', vocabularySize },
      createEngine: (place) =>
        new CpuRuntimeEngine({
          checkpointDir: path.resolve(options.checkpointDir),
          models,
          baseModels: options.baseModels ?? baseModels,
          ...place,
        }),
    },
    options,
  );
}
