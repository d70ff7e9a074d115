import type { LoraConfig } from '@agentlightning/core/training-runtime';
import type { LoraConfig as LoraMessage } from '../gen/agentlightning/runtime/v1/model_pb.ts';
import type { CreateModelRequest } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { assertFeature } from './assert-feature.ts';
import type { EngineCapabilities } from './engine.ts';
import { assertName, invalid } from './invalid.ts';
import type { ModelRequest } from './model-request.ts';

type Base = EngineCapabilities['models'][number];

/**
 * Validates the options of a model and fills in defaults.
 * @throws RuntimeError INVALID for a base or a feature that the engine does not have
 */
export function resolveModel(request: CreateModelRequest, capabilities: EngineCapabilities): ModelRequest {
  const { modelId, baseModel, seed, lora, hasValueHead, initialCheckpoint } = request;
  assertName('model_id', modelId);
  const base = capabilities.models.find(({ name }) => name === baseModel);
  if (base === undefined) {
    const names = capabilities.models.map(({ name }) => name).join(', ');
    throw invalid('base_model', `is "${baseModel}"; known models: ${names}`);
  }
  if (hasValueHead) assertFeature(capabilities, 'value_head', 'has_value_head');
  if (initialCheckpoint !== '') assertFeature(capabilities, 'initial_checkpoint', 'initial_checkpoint');
  const plain = { modelId, baseModel, seed, hasValueHead, ...(initialCheckpoint === '' ? {} : { initialCheckpoint }) };
  if (lora === undefined) return plain;
  assertFeature(capabilities, 'lora', 'lora');
  return { ...plain, lora: resolveLora(lora, base) };
}

function resolveLora({ rank, alpha, targetModules }: LoraMessage, base: Base): Required<LoraConfig> {
  const { name, maxLoraRank = 0, loraTargetModules = [] } = base;
  if (rank < 1 || rank > maxLoraRank) {
    throw invalid('lora.rank', `is ${rank}; ${name} accepts 1 to ${maxLoraRank}`);
  }
  if (!(Number.isFinite(alpha) && alpha >= 0))
    throw invalid('lora.alpha', `is ${alpha}; it must be finite and above 0`);
  for (const [at, module] of targetModules.entries()) {
    if (loraTargetModules.length === 0 || loraTargetModules.includes(module)) continue;
    throw invalid(`lora.target_modules[${at}]`, `is "${module}"; ${name} has ${loraTargetModules.join(', ')}`);
  }
  return {
    rank,
    alpha: alpha === 0 ? rank : alpha,
    targetModules: targetModules.length === 0 ? loraTargetModules : targetModules,
  };
}
