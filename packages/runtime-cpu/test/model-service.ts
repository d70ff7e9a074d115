import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { connectRuntime, type RuntimeModel } from '@agentlightning/runtime';
import OpenAI from 'openai';
import { startCpuRuntime } from '../src/service/start-cpu-runtime.ts';
import { datum } from './small-model.ts';

/** A response with the fields of vLLM and of this runtime. */
export interface Completion extends OpenAI.Chat.ChatCompletion {
  readonly choices: (OpenAI.Chat.ChatCompletion.Choice & { readonly token_ids?: number[] })[];
  readonly prompt_token_ids?: number[];
  readonly policy_version: number;
}

/** A chunk with the fields of vLLM and of this runtime. */
export interface CompletionChunk extends OpenAI.Chat.ChatCompletionChunk {
  readonly choices: (OpenAI.Chat.ChatCompletionChunk.Choice & { readonly token_ids?: number[] })[];
  readonly prompt_token_ids?: number[];
  readonly policy_version: number;
}

/** A request without the fields that the service fills in. */
export type Question = Partial<OpenAI.Chat.ChatCompletionCreateParams> & {
  readonly return_token_ids?: boolean;
  readonly forced_message?: Omit<OpenAI.Chat.ChatCompletionAssistantMessageParam, 'role'>;
  readonly prompt_token_ids?: readonly number[];
};

/** The embedded runtime with randomly initialised models, and an OpenAI client. */
export interface ModelService {
  readonly openai: OpenAI;
  readonly baseUrl: string;
  /** Headers with the API key. */
  readonly authorization: Readonly<Record<string, string>>;
  newModel(modelId: string): Promise<RuntimeModel>;
  ask(question: Question): Promise<Completion>;
  /** All chunks of a streamed response. */
  stream(question: Question): Promise<readonly CompletionChunk[]>;
  close(): Promise<void>;
}

/** The default request. */
export const plainQuestion: OpenAI.Chat.ChatCompletionCreateParamsNonStreaming = {
  model: 'first',
  messages: [{ role: 'user', content: 'Count to three.' }],
  max_tokens: 8,
  seed: 1,
};

/** Starts the runtime in this process, with one model: `first`. */
export async function startModelService(): Promise<ModelService> {
  const checkpointDir = await mkdtemp(path.join(tmpdir(), 'runtime-cpu-'));
  const server = await startCpuRuntime({ checkpointDir });
  const runtime = await connectRuntime({ address: server.address, apiKey: server.apiKey });
  const openai = new OpenAI({ baseURL: server.inferenceUrl, apiKey: server.apiKey, maxRetries: 0 });
  const newModel = (modelId: string): Promise<RuntimeModel> =>
    runtime.createModel({ baseModel: 'tiny-random', modelId, seed: 1 });
  await newModel('first');
  return {
    openai,
    baseUrl: server.inferenceUrl,
    authorization: { authorization: `Bearer ${server.apiKey}` },
    newModel,
    ask: async (question) => {
      const completion = await openai.chat.completions.create({ ...plainQuestion, ...question, stream: false });
      return completion as Completion;
    },
    stream: async (question) => {
      const stream = await openai.chat.completions.create({ ...plainQuestion, ...question, stream: true });
      const chunks: OpenAI.Chat.ChatCompletionChunk[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      return chunks as CompletionChunk[];
    },
    close: async () => {
      await runtime.close();
      await server.close();
      await rm(checkpointDir, { recursive: true });
    },
  };
}

/** The ids and log-probabilities of a response's first choice. */
export function tokensOf({ choices: [choice] }: Completion): { readonly ids: number[]; readonly logprobs: number[] } {
  const logprobs = choice?.logprobs?.content?.map(({ logprob }) => logprob) ?? [];
  return { ids: choice?.token_ids ?? [], logprobs };
}

/** Trains a model to give one response to a prompt deterministically, and publishes it. */
export async function teach(
  model: RuntimeModel,
  prompt: readonly number[],
  response: readonly number[],
): Promise<void> {
  const lesson: TrainingDatum = datum([...prompt, ...response], { count: response.length });
  for (let step = 0; step < 25; step++) {
    await model.forwardBackward({ data: [lesson] }, { name: 'cross_entropy', parameters: {} });
    await model.optimStep({ learningRate: 0.02 });
  }
  await (await model.publishWeights()).result;
}
