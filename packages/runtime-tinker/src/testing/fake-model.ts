import { setImmediate } from 'node:timers/promises';
import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { loadBaseModel, ModelEngine, tinyModelConfig } from '@agentlightning/runtime-cpu/internal';
import type { LossScale } from '../profile.ts';
import type { PassDatum } from '../wire/pass-messages.ts';
import type { SampledSequence, SampleRequest } from '../wire/sample-messages.ts';

/** What a server does differently from others. */
export interface FakeDeviations {
  /** @default 'sum' */
  readonly lossScale?: LossScale;
  /** Whether samples come from the weights at the creation of their session; else from the newest. @default true */
  readonly hasSnapshots?: boolean;
  /** Whether samples are drawn from the likeliest tokens only, and have log-probabilities among them. @default false */
  readonly isTruncated?: boolean;
  /** Whether a sample at temperature 1 from all tokens is drawn; else it is the likeliest one. @default true */
  readonly drawsFromAll?: boolean;
  /** Whether a step limits the norm of its gradient. @default true */
  readonly limitsGradient?: boolean;
  /** LoRA's alpha in the response to a new model. @default not stated */
  readonly alpha?: number;
  /** Whether a step reports the norm of its gradients. @default true */
  readonly reportsNorm?: boolean;
}

/** Adam's parameters on the wire. */
export interface WireAdam {
  readonly learning_rate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly eps: number;
  readonly weight_decay: number;
  readonly grad_clip_norm: number;
}

/** The log-probability of a token that the small model can read but not generate. */
const unsayable = -100;

interface Pending {
  readonly datum: PassDatum;
  /** Trained tokens of the request. */
  readonly requestTokens: number;
}

/** A model of the fake server: the gradients are those of the embedded runtime. */
export class FakeModel {
  readonly engine: ModelEngine;
  readonly #deviations: FakeDeviations;
  #pending: Pending[] = [];

  private constructor(engine: ModelEngine, deviations: FakeDeviations) {
    this.engine = engine;
    this.#deviations = deviations;
  }

  static async create(baseModel: string, seed: number, deviations: FakeDeviations): Promise<FakeModel> {
    return new FakeModel(await loadBaseModel(baseModel, seed, { yieldToSampling: () => setImmediate() }), deviations);
  }

  /** The log-probabilities of all tokens from the second on. */
  async score(data: readonly PassDatum[]): Promise<readonly Float32Array[]> {
    const scored = await this.engine.forward(data.map(({ tokenIds }) => asTrainingDatum(tokenIds, {})));
    return data.map(({ tokenIds }, index) => {
      const known = scored.logprobs[index] ?? new Float32Array();
      let at = 0;
      return Float32Array.from(tokenIds.subarray(1), (token) => (isSayable(token) ? (known[at++] ?? 0) : unsayable));
    });
  }

  /** Keeps the data for the next step. */
  async addGradients(data: readonly PassDatum[]): Promise<readonly Float32Array[]> {
    const requestTokens = data.reduce((sum, datum) => sum + trainedTokens(datum), 0);
    this.#pending.push(...data.map((datum) => ({ datum, requestTokens })));
    return await this.score(data);
  }

  /** Takes a step with the data since the last one. */
  async step(adam: WireAdam): Promise<Readonly<Record<string, number>>> {
    const pending = this.#pending;
    this.#pending = [];
    if (pending.length === 0) return { 'skyrl.ai/grad_norm': 0 };
    const data = pending.map(({ datum, requestTokens }) => {
      const share = this.#shareOf(datum, { sequences: pending.length, requestTokens });
      return asTrainingDatum(datum.tokenIds, datum.inputs, share);
    });
    await this.engine.forwardBackward(data, { name: 'importance_sampling', parameters: {} });
    const { gradientNorm } = await this.engine.optimStep({
      learningRate: adam.learning_rate,
      beta1: adam.beta1,
      beta2: adam.beta2,
      epsilon: adam.eps,
      weightDecay: adam.weight_decay,
      gradientClipNorm: (this.#deviations.limitsGradient ?? true) ? adam.grad_clip_norm : 0,
    });
    return (this.#deviations.reportsNorm ?? true) ? { 'skyrl.ai/grad_norm': gradientNorm } : {};
  }

  #shareOf(datum: PassDatum, { sequences, requestTokens }: { sequences: number; requestTokens: number }): number {
    switch (this.#deviations.lossScale ?? 'sum') {
      case 'sum':
        return 1;
      case 'sequence_means':
        return 1 / (trainedTokens(datum) * sequences);
      case 'token_mean':
        return 1 / requestTokens;
    }
  }

  /** Samples from the current weights of this model, or from those that it has now. */
  sampler(): (request: SampleRequest) => Promise<SampledSequence> {
    const frozen = this.#copy();
    const { hasSnapshots = true, isTruncated = false, drawsFromAll = true } = this.#deviations;
    const ruleOf = (request: SampleRequest): SampleRequest =>
      !drawsFromAll && request.temperature === 1 && request.topP === 1 ? { ...request, temperature: 0 } : request;
    return async (request) => await sampleFrom(hasSnapshots ? frozen : this.#copy(), ruleOf(request), isTruncated);
  }

  #copy(): ModelEngine {
    const { config } = this.engine;
    const parameters = this.engine.parameters();
    const unused = { weightVersion: 0, random: [0, 0, 0, 0], clientState: new Uint8Array() } as const;
    return ModelEngine.fromWeights({ config, parameters, ...unused }, 0);
  }
}

async function sampleFrom(engine: ModelEngine, request: SampleRequest, isTruncated: boolean): Promise<SampledSequence> {
  const { promptTokens, maxTokens, temperature, topP, seed } = request;
  const rule = { temperature, topP: isTruncated ? 0.3 : topP, topLogprobs: 0, stop: [] };
  const sampled = await engine.sample({ promptTokens, maxTokens, ...rule, ...(seed === undefined ? {} : { seed }) })
    .result;
  const tokens = sampled.choices.map(({ token }) => token);
  // The protocol's log-probabilities are those of temperature 1, whatever was sampled at.
  const all = Int32Array.from([...promptTokens, ...tokens]);
  const trained = tokens.map((_, at) => ({ start: promptTokens.length + at, end: promptTokens.length + at + 1 }));
  const [logprobs = new Float32Array()] =
    temperature === 1 && topP === 1
      ? [Float32Array.from(sampled.choices, ({ logprob }) => logprob)]
      : (await engine.forward([{ ...emptyDatum(all, tokens.length), trained }])).logprobs;
  return { tokens, logprobs: [...logprobs], stopReason: sampled.finishReason };
}

function isSayable(token: number): boolean {
  return token < tinyModelConfig.outputSize;
}

function trainedTokens({ inputs }: PassDatum): number {
  return inputs['weights']?.reduce((sum, weight) => sum + weight, 0) ?? inputs['advantages']?.length ?? 1;
}

function emptyDatum(tokenIds: Int32Array, count: number): TrainingDatum {
  return {
    tokenIds,
    trained: [],
    samplingLogprobs: new Float32Array(count),
    advantages: new Float32Array(count),
    weights: new Float32Array(count).fill(1),
    temperature: 1,
    rolloutId: 'fake',
    groupId: 'fake',
    minPolicyVersion: 0,
    maxPolicyVersion: 0,
  };
}

/** All tokens that the model can generate, with the inputs of the loss; `share` multiplies their weights. */
function asTrainingDatum(tokenIds: Int32Array, inputs: PassDatum['inputs'], share = 1): TrainingDatum {
  const positions = [...tokenIds.keys()].slice(1).filter((position) => isSayable(tokenIds[position] ?? 0));
  const column = (name: string, absent: number): Float32Array =>
    Float32Array.from(positions, (position) => inputs[name]?.[position - 1] ?? absent);
  return {
    ...emptyDatum(tokenIds, positions.length),
    trained: positions.map((position) => ({ start: position, end: position + 1 })),
    samplingLogprobs: column('logprobs', 0),
    advantages: column('advantages', 0),
    weights: column('advantages', 0).map((advantage, at) =>
      advantage === 0 ? 0 : (column('weights', 1)[at] ?? 1) * share,
    ),
  };
}
