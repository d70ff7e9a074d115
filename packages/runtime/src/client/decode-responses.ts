import type { BatchResult, InferenceEndpoint, ModelState } from '@agentlightning/core/training-runtime';
import type { ModelInfo, InferenceEndpoint as WireEndpoint } from '../gen/agentlightning/runtime/v1/model_pb.ts';
import type { Operation } from '../gen/agentlightning/runtime/v1/operation_pb.ts';
import type { InferenceState } from '../server/engine.ts';
import { toPublishedWeights } from '../wire/published-weights.ts';
import { outcome } from './operation-outcome.ts';

/** Converts a model's state to the type of core. */
export function toModelState(model: ModelInfo): ModelState {
  const { modelId, baseModel, step, policyVersion, hasPendingGradients, isCorrupted, hasValueHead } = model;
  const { nextSeq: nextSequence, lora, trainableParameterCount } = model;
  return {
    modelId,
    baseModel,
    step,
    policyVersion,
    nextSequence,
    hasPendingGradients,
    isCorrupted,
    ...(lora === undefined ? {} : { lora: { rank: lora.rank, alpha: lora.alpha, targetModules: lora.targetModules } }),
    hasValueHead,
    ...(trainableParameterCount === 0n ? {} : { trainableParameterCount: Number(trainableParameterCount) }),
  };
}

/** @throws RuntimeError INTERNAL when the operation has another outcome */
export function toBatchResult(operation: Operation): BatchResult {
  const { loss, trainedTokens, metrics } = outcome(operation, 'batch');
  return { loss, trainedTokens, metrics };
}

/** Converts an endpoint to the type of core. */
export function toEndpoint({ baseUrl, model, policyVersion, weights }: WireEndpoint): InferenceEndpoint {
  return { baseUrl, model, policyVersion, ...(weights && { weights: toPublishedWeights(weights) }) };
}

/** Converts the state of sampling to the public type. */
export function toInferenceState(state: InferenceState | undefined): InferenceState {
  return {
    isPaused: state?.isPaused ?? false,
    inFlight: state?.inFlight ?? 0,
    policyVersion: state?.policyVersion ?? 0,
  };
}
