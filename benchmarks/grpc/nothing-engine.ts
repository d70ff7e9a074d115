import type { TrainingBatch } from '@agentlightning/core/training-runtime';
import { type EngineModel, encodeBatch, type RuntimeEngine } from '@agentlightning/runtime';

const sizes = new Map<string, number>();

/** A model that learns nothing and takes no time, so that only the way to it is measured. */
function nothingModel(modelId: string): EngineModel {
  const notHere = (): Promise<never> => Promise.reject(new TypeError('the benchmark does not ask for it'));
  return {
    modelId,
    baseModel: 'nothing',
    seed: 1,
    state: () => ({ step: 0, policyVersion: 0, isCorrupted: false }),
    forwardBackward: async (batch) => ({ loss: 0, trainedTokens: 0, metrics: { payload_bytes: sizeOf(batch) } }),
    unload: async () => {},
    discardGradients: async () => {},
    listCheckpoints: async () => [],
    forward: notHere,
    optimStep: notHere,
    publishWeights: notHere,
    saveCheckpoint: notHere,
    loadCheckpoint: notHere,
    deleteCheckpoint: notHere,
    endpoint: notHere,
    pause: notHere,
    resume: notHere,
  };
}

/** Size on the wire, counted once for each kind of batch: counting is not what is measured. */
function sizeOf(batch: TrainingBatch): number {
  const trained = JSON.stringify(batch.data[0]?.trained);
  const size = sizes.get(trained) ?? encodeBatch(batch).payload.byteLength;
  sizes.set(trained, size);
  return size;
}

/** Serves {@link nothingModel}. */
export const nothingEngine: RuntimeEngine = {
  capabilities: () => ({
    runtimeVersion: '0.0.0',
    device: 'none',
    models: [{ name: 'nothing', maxContext: 8_192, vocabSize: 200_000 }],
    losses: [{ name: 'importance_sampling', version: 1, defaults: {} }],
    maxBatchTokens: 10_000_000,
  }),
  createModel: async ({ modelId }) => nothingModel(modelId),
  close: async () => {},
};
