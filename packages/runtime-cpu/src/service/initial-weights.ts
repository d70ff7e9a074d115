import { isDeepStrictEqual } from 'node:util';
import { AgentLightningError, NotFoundError } from '@agentlightning/core';
import { type ModelCheckpoint, readCheckpoint } from '../checkpoint/model-checkpoint.ts';
import { RejectedRequestError } from '../errors/rejected-request-error.ts';
import type { ModelConfig } from '../model/model-config.ts';
import { CheckpointFolder } from './checkpoint-folder.ts';

/**
 * Reads the checkpoint that a new model begins with, of any model of the runtime.
 *
 * @param root - the parent folder of checkpoints
 * @throws AgentLightningError NOT_FOUND when it does not exist, RUNTIME_REJECTED when it is of another shape
 */
export async function readInitialWeights(
  root: string,
  { uri, config }: { readonly uri: string; readonly config: ModelConfig },
): Promise<ModelCheckpoint> {
  const modelId = uri.split('/')[0] ?? '';
  if (!/^[A-Za-z0-9_-]{1,255}$/.test(modelId)) throw new NotFoundError('Checkpoint', uri);
  const checkpoint = await read(new CheckpointFolder(root, modelId).fileOfUri(uri), uri);
  if (isDeepStrictEqual(checkpoint.config, config)) return checkpoint;
  throw new RejectedRequestError(`Checkpoint ${uri} has another shape than the model that is to begin with it`, {
    field: 'initial_checkpoint',
  });
}

async function read(file: string, uri: string): Promise<ModelCheckpoint> {
  try {
    return await readCheckpoint(file);
  } catch (error) {
    const isMissing = AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND';
    throw isMissing ? new NotFoundError('Checkpoint', uri) : error;
  }
}
