import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ModelCall } from '@agentlightning/core';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import { attemptBaseUrl } from '@agentlightning/core/store';
import type { TrainableModel } from '@agentlightning/core/training-runtime';
import { serveGateway } from '@agentlightning/gateway';
import { connectRuntime } from '@agentlightning/runtime';
import { openStore } from '@agentlightning/store';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { describeWithPython } from '../../../tools/describe-with-python.ts';
import { environment, startRuntime } from './runtime-process.ts';

/** Loading torch is slow, more so on a loaded machine. */
const testTimeoutMs = 120_000;

const request: OpenAI.ChatCompletionCreateParamsNonStreaming = {
  model: 'any',
  messages: [{ role: 'user', content: 'Say something.' }],
  max_tokens: 9,
  temperature: 0.7,
};

describeWithPython(environment, 'the GPU runtime behind the gateway', (python) => {
  test('token ids, log-probabilities and policy version reach the span, streamed and not', {
    timeout: testTimeoutMs,
    tags: ['long'],
  }, async () => {
    await withModel(python, async (model) => {
      await (await model.publishWeights()).result;
      const { baseUrl } = await model.endpoint();
      const calls = await callsThroughGateway({ baseUrl, model: model.modelId }, async (client) => {
        await client.chat.completions.create(request);
        for await (const _ of await client.chat.completions.create({ ...request, stream: true }));
        await client.completions.create({ model: 'any', prompt: 'Once', max_tokens: 5 });
      });
      expect(calls.map(({ isTrainable, untrainableReason }) => ({ isTrainable, untrainableReason }))).toEqual(
        Array.from({ length: 3 }, () => ({ isTrainable: true, untrainableReason: null })),
      );
      for (const { policyVersion, promptTokenIds, choices } of calls) {
        expect(policyVersion).toBe(1);
        expect(promptTokenIds.length).toBeGreaterThan(0);
        expect(choices[0]?.responseLogprobs).toHaveLength(choices[0]?.responseTokenIds.length ?? 0);
        expect(choices[0]?.responseLogprobs.every((logprob) => logprob < 0)).toBe(true);
      }
      expect(calls[2]?.promptTokenIds).toEqual([...Buffer.from('Once')]);
    });
  });
});

/** Runs with a model of random weights on the Python runtime. */
async function withModel(python: string, run: (model: TrainableModel) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agl-gpu-gateway-'));
  const { address, end } = await startRuntime(python, ['--model', 'tiny=random:llama-tiny', '--checkpoints', folder]);
  const runtime = await connectRuntime({ address });
  try {
    await run(await runtime.createModel({ baseModel: 'tiny', modelId: 'policy', seed: 1 }));
  } finally {
    await runtime.close();
    await end('SIGTERM');
    await rm(folder, { recursive: true, force: true });
  }
}

/** The recorded model calls of an attempt. */
async function callsThroughGateway(
  upstream: { readonly baseUrl: string; readonly model: string },
  agent: (client: OpenAI) => Promise<void>,
): Promise<readonly ModelCall[]> {
  const store = await openStore(':memory:');
  const gateway = await serveGateway({ store, upstream });
  try {
    const { rolloutId, attempt } = await store.startRollout({ input: {} });
    const baseURL = attemptBaseUrl(`${gateway.url}/v1`, { rolloutId, attemptId: attempt.attemptId });
    await agent(new OpenAI({ baseURL, apiKey: 'unused', maxRetries: 0 }));
    await gateway.drain();
    const { items } = await store.querySpans({ rolloutId });
    return items.map(modelCallFromSpan).filter((call) => call !== null);
  } finally {
    await gateway.close();
    await store.close();
  }
}
