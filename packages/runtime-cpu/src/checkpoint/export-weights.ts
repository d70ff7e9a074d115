import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { EngineArtifact } from '@agentlightning/runtime';
import type { ModelConfig } from '../model/model-config.ts';
import { Random } from '../random.ts';
import { writeCheckpoint } from './model-checkpoint.ts';

/** Weights without training state. */
export interface ExportedWeights {
  readonly config: ModelConfig;
  readonly parameters: Float32Array;
  /** Number of optimizer steps in the weights. */
  readonly step: number;
  readonly weightVersion: number;
}

/** Writes weights as safetensors, with the model's shape beside them, to a separate folder. */
export async function exportWeights({
  config,
  parameters,
  step,
  weightVersion,
}: ExportedWeights): Promise<EngineArtifact> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agentlightning-export-'));
  const weightFile = path.join(folder, 'model.safetensors');
  const configFile = path.join(folder, 'config.json');
  // The random state is the initial one: an export does not continue sampling.
  const random = Random.fromSeed(0).state;
  await writeCheckpoint(weightFile, { config, parameters, weightVersion, random, clientState: new Uint8Array() });
  await writeFile(configFile, `${JSON.stringify(config, null, 2)}\n`);
  return {
    files: [
      { path: 'model.safetensors', file: weightFile },
      { path: 'config.json', file: configFile },
    ],
    step,
    discard: () => rm(folder, { recursive: true, force: true }),
  };
}
