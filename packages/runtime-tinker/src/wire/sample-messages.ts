import * as z from 'zod';
import { SampleResponseSchema, StopReason } from '../gen/agentlightning/tinker/v1/tinker_pb.ts';
import { floatsOf, int32sOf } from './numbers.ts';
import { readBinary } from './pass-messages.ts';
import type { TinkerReply } from './server-refusal.ts';
import { readAs, readJson } from './tinker-http.ts';

/** A request for samples of one prompt. */
export interface SampleRequest {
  readonly promptTokens: readonly number[];
  readonly maxTokens: number;
  readonly temperature: number;
  readonly topP: number;
  /** Number of token ids, to choose from all of them. */
  readonly vocabularySize: number;
  readonly seed?: number | undefined;
  /** Token ids that end a sample. */
  readonly stopTokens: readonly number[];
}

/** One sample. */
export interface SampledSequence {
  readonly tokens: readonly number[];
  /** At temperature 1, also for another temperature. */
  readonly logprobs: readonly number[];
  readonly stopReason: 'stop' | 'length';
}

/** A request for one sample as JSON. */
export function sampleAsJson(
  request: SampleRequest,
  place: { readonly session: string; readonly sequence: number; readonly isJson: boolean },
): object {
  const { promptTokens, maxTokens, temperature, topP, vocabularySize, seed, stopTokens } = request;
  return {
    num_samples: 1,
    prompt: { chunks: [{ tokens: promptTokens, type: 'encoded_text' }] },
    sampling_params: {
      max_tokens: maxTokens,
      stop: stopTokens,
      temperature,
      // Some servers of the JSON dialect choose from 50 tokens unless the request has their number.
      top_k: place.isJson ? vocabularySize : -1,
      top_p: topP,
      ...(seed === undefined ? {} : { seed }),
    },
    sampling_session_id: place.session,
    seq_id: place.sequence,
    prompt_logprobs: false,
    topk_prompt_logprobs: 0,
    type: 'sample',
  };
}

const jsonSamples = z.looseObject({
  sequences: z.array(
    z.looseObject({ tokens: z.array(z.int()), logprobs: z.array(z.number()).nullish(), stop_reason: z.string() }),
  ),
});

/** The samples of a response. */
export function readSamples(reply: TinkerReply): readonly SampledSequence[] {
  if (reply.isBinary) {
    return readBinary(SampleResponseSchema, reply.body, 'the result of sampling').sequences.map(
      ({ tokens, logprobs, stopReason }) => ({
        tokens: [...int32sOf(tokens)],
        logprobs: logprobs === undefined ? [] : [...floatsOf(logprobs)],
        stopReason: stopReason === StopReason.LENGTH ? 'length' : 'stop',
      }),
    );
  }
  return readAs(jsonSamples, readJson(reply), 'the result of sampling').sequences.map(
    ({ tokens, logprobs, stop_reason }) => ({
      tokens,
      logprobs: logprobs ?? [],
      stopReason: stop_reason.toLowerCase().includes('length') ? 'length' : 'stop',
    }),
  );
}
