import type { TrainingBatch } from '@agentlightning/core/training-runtime';
import { type EngineModel, type RuntimeEngine, type RuntimeServer, serveRuntime } from '@agentlightning/runtime';
import { type ServerType, serve } from '@hono/node-server';
import { Hono } from 'hono';
import { z } from 'zod';

/** Durations of the operations of a slow runtime, in milliseconds. */
export interface SlowRuntimeOptions {
  /** For one token of a batch, forward and backward. */
  readonly learnMsPerToken: number;
  readonly publishMs: number;
  /** Median duration of a model call. */
  readonly callMs: number;
  /** Standard deviation of the logarithm of the duration of a model call: 1.2 gives a heavy tail. */
  readonly sigma: number;
}

/** Number of tokens of each response. */
const responseTokens = 64;

const request = z.object({ model: z.string(), seed: z.int().default(0) });

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * A training runtime that learns nothing, and takes as long as one on a GPU would. Its model API responds after a
 * log-normal time, which the seed of the request determines: the same calls take the same time in every mode.
 */
export async function serveSlowRuntime(options: SlowRuntimeOptions): Promise<RuntimeServer> {
  const models = new Map<string, EngineModel>();
  const app = new Hono();
  app.get('/v1/models', (c) => c.json({ object: 'list', data: [] }));
  app.post('/v1/chat/completions', async (c) => {
    const { model, seed } = request.parse(await c.req.json());
    const policyVersion = models.get(model)?.state().policyVersion ?? 0;
    await sleep(options.callMs * Math.exp(options.sigma * standardNormal(seed)));
    return c.json(completion(model, policyVersion));
  });
  const server = await new Promise<{ http: ServerType; port: number }>((resolve) => {
    const http = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => resolve({ http, port }));
  });
  const baseUrl = `http://127.0.0.1:${server.port}/v1`;
  const engine: RuntimeEngine = {
    capabilities: () => ({
      runtimeVersion: '0.0.0',
      device: 'none',
      models: [{ name: 'slow', maxContext: 8192, vocabSize: 1000 }],
      losses: [{ name: 'importance_sampling', version: 1, defaults: { entropy_coefficient: 0, kl_coefficient: 0 } }],
      maxBatchTokens: 1_000_000,
    }),
    createModel: async ({ modelId }) => {
      const model = slowModel(modelId, baseUrl, options);
      models.set(modelId, model);
      return model;
    },
    close: async () => {
      server.http.close();
    },
  };
  return await serveRuntime({ engine });
}

function slowModel(modelId: string, baseUrl: string, options: SlowRuntimeOptions): EngineModel {
  let step = 0;
  let policyVersion = 0;
  const endpoint = () => ({ baseUrl, model: modelId, policyVersion });
  const unsupported = (): Promise<never> => Promise.reject(new TypeError('not used by the benchmark'));
  const saved = (name: string, clientState: Uint8Array) => ({
    name,
    uri: `slow:${name}`,
    step,
    policyVersion,
    sizeBytes: 1,
    clientState,
    createdAtMs: Date.now(),
  });
  return {
    modelId,
    baseModel: 'slow',
    seed: 0,
    state: () => ({ step, policyVersion, isCorrupted: false }),
    forwardBackward: async (batch) => {
      const tokens = batch.data.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
      await sleep(tokens * options.learnMsPerToken);
      return { loss: 0, trainedTokens: trainedTokens(batch), metrics: { 'policy/logprob_gap': 0 } };
    },
    optimStep: async () => {
      step += 1;
      return { step, gradientNorm: 1, isSkipped: false };
    },
    publishWeights: async () => {
      await sleep(options.publishMs);
      policyVersion += 1;
      return endpoint();
    },
    saveCheckpoint: async (name, clientState) => saved(name, clientState),
    endpoint: async () => endpoint(),
    listCheckpoints: async () => [],
    deleteCheckpoint: async () => undefined,
    discardGradients: async () => undefined,
    unload: async () => undefined,
    forward: unsupported,
    loadCheckpoint: unsupported,
    pause: unsupported,
    resume: unsupported,
  };
}

function trainedTokens(batch: TrainingBatch): number {
  return batch.data.reduce((sum, { samplingLogprobs }) => sum + samplingLogprobs.length, 0);
}

function completion(model: string, policyVersion: number): object {
  const tokenIds = Array.from({ length: responseTokens }, (_, index) => index + 10);
  return {
    id: `chatcmpl-${Math.random().toString(36).slice(2)}`,
    object: 'chat.completion',
    created: 0,
    model,
    policy_version: policyVersion,
    prompt_token_ids: [1, 2, 3],
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        token_ids: tokenIds,
        message: { role: 'assistant', content: 'text' },
        logprobs: {
          content: tokenIds.map((id) => ({ token: String(id), logprob: -1, bytes: null, top_logprobs: [] })),
        },
      },
    ],
    usage: { prompt_tokens: 3, completion_tokens: responseTokens, total_tokens: 3 + responseTokens },
  };
}

/** A standard normal number from a seed (Box–Muller). */
function standardNormal(seed: number): number {
  const first = uniform(seed);
  const second = uniform(seed ^ 0x5bd1e995);
  return Math.sqrt(-2 * Math.log(first)) * Math.cos(2 * Math.PI * second);
}

/** A uniform number between 0 and 1 from a seed (the finalizer of MurmurHash3). */
function uniform(seed: number): number {
  let hash = seed >>> 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash ^= hash >>> 16;
  return ((hash >>> 0) + 1) / (2 ** 32 + 2);
}
