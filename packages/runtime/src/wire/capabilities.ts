import type { RuntimeCapabilities } from '@agentlightning/core/training-runtime';
import type { BaseModel, GetCapabilitiesResponse } from '../gen/agentlightning/runtime/v1/runtime_pb.ts';

/** Converts capabilities to the type of core. */
export function decodeCapabilities(capabilities: GetCapabilitiesResponse): RuntimeCapabilities {
  const { runtimeVersion, device, deviceCount, dtype, maxModels, features, maxBatchTokens, maxMessageBytes } =
    capabilities;
  return {
    runtimeVersion,
    device,
    deviceCount,
    models: capabilities.baseModels.map(decodeBaseModel),
    losses: capabilities.losses.map(({ name, version, defaults }) => ({ name, version, defaults })),
    maxBatchTokens,
    maxMessageBytes,
    features,
    ...(dtype === '' ? {} : { dtype }),
    maxModels,
  };
}

function decodeBaseModel(model: BaseModel): RuntimeCapabilities['models'][number] {
  const { name, maxContext, vocabSize, maxLoraRank, loraTargetModules } = model;
  const { tokenizerSha256, chatTemplateSha256, parameterCount } = model;
  return {
    name,
    maxContext,
    vocabSize,
    ...(tokenizerSha256 === '' ? {} : { tokenizerSha256 }),
    ...(chatTemplateSha256 === '' ? {} : { chatTemplateSha256 }),
    maxLoraRank,
    ...(parameterCount === 0n ? {} : { parameterCount: Number(parameterCount) }),
    loraTargetModules,
  };
}
