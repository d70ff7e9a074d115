import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import type { ModelConfig } from '../src/model/model-config.ts';
import { tinyModelConfig } from '../src/model/model-config.ts';
import type { SampleRequest, SampleResult } from '../src/sampling/sample-request.ts';

/** A model small enough for finite differences, with every component: two layers, two heads, untied embeddings. */
export const smallConfig: ModelConfig = {
  ...tinyModelConfig,
  width: 16,
  heads: 2,
  hidden: 24,
  isTied: false,
  maxContext: 128,
  initialDeviation: 0.3,
};

/** A request with the defaults of a training rollout. */
export function sampleRequest(request: Partial<SampleRequest>): SampleRequest {
  return {
    promptTokens: [269, 72, 105, 270],
    maxTokens: 8,
    temperature: 1,
    topP: 1,
    topLogprobs: 0,
    stop: [],
    seed: 1,
    ...request,
  };
}

/** A datum whose last `count` tokens are trained on. */
export function datum(tokens: readonly number[], fields: Partial<TrainingDatum> & { count: number }): TrainingDatum {
  const { count, ...rest } = fields;
  return {
    tokenIds: Int32Array.from(tokens),
    trained: [{ start: tokens.length - count, end: tokens.length }],
    samplingLogprobs: new Float32Array(count).fill(-5),
    advantages: new Float32Array(count).fill(1),
    weights: new Float32Array(count).fill(1),
    temperature: 1,
    rolloutId: 'ro',
    groupId: 'gr',
    minPolicyVersion: 0,
    maxPolicyVersion: 0,
    ...rest,
  };
}

/** A sampled response as a training datum. */
export function sampledDatum(result: SampleResult, fields: Partial<TrainingDatum> = {}): TrainingDatum {
  const tokens = [...result.promptTokens, ...result.choices.map(({ token }) => token)];
  return datum(tokens, {
    count: result.choices.length,
    samplingLogprobs: Float32Array.from(result.choices, ({ logprob }) => logprob),
    ...fields,
  });
}
