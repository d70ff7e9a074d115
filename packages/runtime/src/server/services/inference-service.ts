import type { ServiceImpl } from '@connectrpc/connect';
import { type InferenceService, PauseMode } from '../../gen/agentlightning/runtime/v1/inference_pb.ts';
import type { PauseMode as EnginePauseMode } from '../engine.ts';
import { invalid } from '../invalid.ts';
import { assertMade, type RuntimeHost } from '../runtime-host.ts';

const engineModes: Partial<Record<PauseMode, EnginePauseMode>> = {
  [PauseMode.DRAIN]: 'drain',
  [PauseMode.ABORT]: 'abort',
};

/** Control of sampling. */
export function inferenceHandlers(host: RuntimeHost): ServiceImpl<typeof InferenceService> {
  return {
    getEndpoint: async ({ modelId }) => ({ endpoint: await host.engineModel(modelId).endpoint() }),
    pause: async ({ sessionId, modelId, mode }) => {
      const model = assertMade(host.ownedModel(sessionId, modelId));
      const engineMode = engineModes[mode];
      if (engineMode === undefined) throw invalid('mode', `is ${mode}; it must be DRAIN or ABORT`);
      return { state: await model.pause(engineMode) };
    },
    resume: async ({ sessionId, modelId }) => ({
      state: await assertMade(host.ownedModel(sessionId, modelId)).resume(),
    }),
  };
}
