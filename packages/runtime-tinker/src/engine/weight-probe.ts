import { AgentLightningError } from '@agentlightning/core';
import type { ModelText } from '../text/model-text.ts';
import type { RemoteModel } from '../wire/remote-model.ts';
import type { RemoteSampler } from '../wire/remote-sampler.ts';

/** Length of the sampled probe, in tokens. */
const probeTokens = 8;

/** Largest mean difference, in nats per token: above what bfloat16 explains, below what other weights or a truncated choice cause. */
const maxGap = 0.15;

/** A prompt that every vocabulary has. */
const promptTokens = [1, 2, 3, 4];

/**
 * Compares the log-probabilities of a sampled response with those of a pass: they differ when a server samples from older weights, or from
 * fewer tokens than it says.
 *
 * @returns the mean difference in nats per token
 * @throws AgentLightningError WEIGHT_MISMATCH
 */
export async function probeWeights(options: {
  readonly sampler: RemoteSampler;
  readonly model: RemoteModel;
  readonly text: ModelText;
}): Promise<number> {
  const { sampler, model, text } = options;
  const rule = {
    maxTokens: probeTokens,
    temperature: 1,
    topP: 1,
    vocabularySize: text.vocabularySize,
    stopTokens: [...text.endTokens],
  };
  const { tokens, logprobs } = await sampler.sample({ promptTokens, ...rule, seed: 1 });
  const tokenIds = Int32Array.from([...promptTokens, ...tokens]);
  const weights = new Float32Array(tokenIds.length - 1).fill(1);
  const [scored = new Float32Array()] = await model.score([{ tokenIds, inputs: { weights } }]);
  const ofSample = scored.subarray(promptTokens.length - 1);
  const gap = logprobs.reduce((sum, logprob, at) => sum + Math.abs(logprob - (ofSample[at] ?? 0)), 0) / tokens.length;
  if (gap <= maxGap) return gap;
  throw new AgentLightningError({
    code: 'WEIGHT_MISMATCH',
    message: `The server samples with log-probabilities that differ from its passes by ${gap.toFixed(3)} nats per token, above ${maxGap}`,
    remedy:
      'The server samples from older weights, or from some tokens only (top-k). Run `agl doctor` to see what differs.',
    details: { gap, maxGap },
  });
}
