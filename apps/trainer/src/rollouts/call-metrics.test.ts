import type { JsonObject } from '@agentlightning/core';
import { aCollectedRollout, aModelCallSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { alteredSamplingText } from '../diagnosis/run-conditions.ts';
import { callMetrics, overriddenSampling } from './call-metrics.ts';

const response = (tokens: number, finishReason: string) => ({
  index: 0,
  responseTokenIds: Array.from({ length: tokens }, (_, index) => index + 1),
  responseLogprobs: Array.from({ length: tokens }, () => -0.5),
  finishReason,
});

test('lengths, truncations and altered sampling are counted over trainable calls', () => {
  const spans = [
    aModelCallSpan({ choices: [response(2, 'stop')], alteredSampling: ['top_p'] }),
    aModelCallSpan({ choices: [response(4, 'length')], alteredSampling: ['top_p', 'logit_bias'] }),
    aModelCallSpan({ choices: [response(9, 'length')], isTrainable: false, untrainableReason: 'partial' }),
  ];
  const metrics = callMetrics([{ ...aCollectedRollout({ rolloutId: 'ro-1', reward: 1 }), spans }]);
  expect(metrics).toEqual({
    'response/tokens_mean': 3,
    'response/tokens_max': 4,
    'response/truncated_share': 0.5,
    'calls/altered_sampling/top_p': 2,
    'calls/altered_sampling/logit_bias': 1,
  });
  expect(alteredSamplingText({ top_p: 2, logit_bias: 1 })).toContain(
    '`top_p` (2 model calls) and `logit_bias` (1 model call)',
  );
});

test('the sampling that the agent asks for and that is replaced is listed once', () => {
  const calls = [{ temperature: 0.2 }, { temperature: 0.2, max_tokens: 8 }, { temperature: 1, top_p: 0.9 }, {}];
  const requests = calls.map((request) => ({ request: request as JsonObject }));
  expect(overriddenSampling(requests, { temperature: 1, topP: 1, maxTokens: 64 })).toEqual([
    'temperature 0.2 by 1',
    'top_p 0.9 by 1',
  ]);
  expect(overriddenSampling(requests, { maxTokens: 4 })).toEqual(['max_tokens 8 by 4']);
});

test('there are no metrics without trainable calls', () => {
  expect(callMetrics([])).toEqual({});
});
