import type { PublishedWeights, WeightProbe } from '@agentlightning/core/training-runtime';
import type {
  WeightProbe as WireProbe,
  PublishedWeights as WireWeights,
} from '../gen/agentlightning/runtime/v1/model_pb.ts';

/** Converts the identity of published weights to the type of core. */
export function toPublishedWeights({ digest, probe }: WireWeights): PublishedWeights {
  return { digest, ...(probe && { probe: toWeightProbe(probe) }) };
}

/** Converts a comparison of sampler and trainer to the type of core. */
export function toWeightProbe({ logprobGap, maxLogprobGap, tokens }: WireProbe): WeightProbe {
  return { logprobGap, maxLogprobGap, tokens };
}
