import { AgentLightningError } from '@agentlightning/core';
import type { LossScale, ServerProfile } from '../profile.ts';
import type { PassDatum } from '../wire/pass-messages.ts';
import type { RemoteModel } from '../wire/remote-model.ts';
import type { RemoteSampler } from '../wire/remote-sampler.ts';
import type { SampleRequest } from '../wire/sample-messages.ts';
import { layerGroups, type TinkerSession } from '../wire/tinker-session.ts';

/** What is measured with. */
export interface MeasurementOptions {
  readonly session: TinkerSession;
  readonly baseModel: string;
  /** Number of token ids. */
  readonly vocabularySize: number;
}

/** What was measured. */
export interface MeasuredServer extends ServerProfile {
  /** LoRA's alpha as the server states it for {@link probeRank}; null: not stated. */
  readonly alpha: number | null;
}

/** Rank of the model that is measured with. */
export const probeRank = 8;

/** Its last token is the one that is taught. */
const lesson = Int32Array.from([1, 2, 3, 4, 5]);

/** Three times as many predicted tokens, which are not taught: they weigh on servers that average. */
const ballast = Int32Array.from([5, 4, 3, 2, 1, 6, 7, 8, 9, 8, 7, 6, 5]);

/** A change of the taught token's log-probability that rounding does not explain. */
const leastChange = 0.3;

/** The change that is aimed at: the step is then about linear. */
const wantedChange = 0.6;

/** A change below this is rounding. */
const smallestChange = 1e-3;

/** The first step size, and the number of attempts to find the right one. */
const [firstRate, maxAttempts] = [1e-2, 12];

/** The probability of the taught token that every sample shows. */
const taughtLogprob = Math.log(0.6);

/**
 * Measures what a server does differently from others, on a separate model that is freed: about ten small steps.
 *
 * @throws AgentLightningError RUNTIME_REJECTED when its steps fit none of the known ways to weigh data
 */
export async function measureServer(options: MeasurementOptions): Promise<MeasuredServer> {
  const { session, baseModel, vocabularySize } = options;
  const model = await session.createModel({ baseModel, rank: probeRank, seed: 1, layers: layerGroups });
  try {
    // The first pass shows the dialect, by which samples are requested.
    const pupil = new Pupil(model, await logprobOf(model, lesson));
    const sampler = await model.publish();
    const drawsFromAll = await isDrawn(sampler, vocabularySize);
    const { rate, seen } = await findStep(pupil);
    await pupil.step({ rate, sign: -1 });
    const lossScale = scaleOf((await pupil.step({ rate, hasBallast: true })) / seen);
    const limitsGradient = (await pupil.step({ rate, gradientClipNorm: 1e-9 })) < leastChange / 10;
    await teach(pupil, rate);
    const promptTokens = [...lesson.subarray(0, -1)];
    const { tokens, logprobs } = await sampler.sample({
      promptTokens,
      ...drawn(vocabularySize),
      maxTokens: 1,
      seed: 1,
    });
    const newest = await logprobOf(model, Int32Array.from([...promptTokens, tokens[0] ?? 0]));
    const hasSnapshots = Math.abs(newest - (logprobs[0] ?? newest)) >= leastChange;
    return { lossScale, hasSnapshots, drawsFromAll, limitsGradient, alpha: model.alpha };
  } finally {
    await model.unload();
  }
}

/** The largest number of samples that tell a drawn response from the likeliest one. */
const maxDraws = 8;

/** The logarithm of a probability that is not chance. */
const surelyNot = Math.log(1e-6);

/** Whether responses with different seeds differ, as far as their probabilities let them. */
async function isDrawn(sampler: RemoteSampler, vocabularySize: number): Promise<boolean> {
  const promptTokens = [...lesson];
  const rule = { ...drawn(vocabularySize), maxTokens: 8 };
  const first = await sampler.sample({ promptTokens, ...rule, seed: 1 });
  const logprob = first.logprobs.reduce((sum, value) => sum + value, 0);
  for (let seed = 2; seed <= maxDraws; seed += 1) {
    const other = await sampler.sample({ promptTokens, ...rule, seed });
    if (other.tokens.join() !== first.tokens.join()) return true;
    if (logprob * (seed - 1) < surelyNot) return false;
  }
  // The first tokens of the model are certain.
  return true;
}

function drawn(vocabularySize: number): Omit<SampleRequest, 'promptTokens' | 'maxTokens'> {
  return { temperature: 1, topP: 1, vocabularySize, stopTokens: [] };
}

/** The log-probability of the last token. */
async function logprobOf(model: RemoteModel, tokenIds: Int32Array): Promise<number> {
  const [logprobs] = await model.score([{ tokenIds, inputs: {} }]);
  return logprobs?.at(-1) ?? Number.NaN;
}

/** A sequence whose last token is taught with an advantage, at the ratio one. */
function datumOf(tokenIds: Int32Array, advantage: number, logprob: number): PassDatum {
  const last = (value: number): Float32Array => new Float32Array(tokenIds.length - 1).fill(value, -1);
  return { tokenIds, inputs: { logprobs: last(logprob), advantages: last(advantage) } };
}

interface ProbeStep {
  /** The advantage: with a learning rate of one it is the size of the step. */
  readonly rate: number;
  readonly sign?: 1 | -1;
  readonly hasBallast?: boolean;
  /** 0: none. */
  readonly gradientClipNorm?: number;
}

/** The model that is taught, and the log-probability of the taught token. */
class Pupil {
  readonly #model: RemoteModel;
  logprob: number;

  constructor(model: RemoteModel, logprob: number) {
    this.#model = model;
    this.logprob = logprob;
  }

  /** Takes a step in proportion to the gradient; returns the change of the log-probability. */
  async step({ rate, sign = 1, hasBallast = false, gradientClipNorm = 0 }: ProbeStep): Promise<number> {
    const before = this.logprob;
    const taught = datumOf(lesson, sign * rate, before);
    // With an epsilon far above the gradient and no memory, Adam divides by the epsilon alone. Servers limit it, and the learning rate.
    const adam = { learningRate: 1, beta1: 0, beta2: 0, epsilon: 1, weightDecay: 0, gradientClipNorm };
    await this.#model.addGradients(hasBallast ? [taught, datumOf(ballast, 0, 0)] : [taught]);
    await this.#model.step(adam);
    this.logprob = await logprobOf(this.#model, lesson);
    return this.logprob - before;
  }
}

/** A step whose change is seen. */
async function findStep(pupil: Pupil): Promise<{ readonly rate: number; readonly seen: number }> {
  let rate = firstRate;
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const seen = await pupil.step({ rate });
    if (seen >= leastChange && seen <= 4 * leastChange) return { rate, seen };
    if (seen > leastChange) await pupil.step({ rate, sign: -1 });
    rate *= seen > smallestChange ? wantedChange / seen : 30;
  }
  throw unmeasurable('its steps do not change what they train');
}

function scaleOf(ratio: number): LossScale {
  if (!(ratio > 0.15 && ratio < 1.5)) {
    throw unmeasurable(`data without advantages multiply the effect of the others by ${ratio.toFixed(3)}`);
  }
  if (ratio > Math.SQRT1_2) return 'sum';
  return ratio > Math.SQRT1_2 / 2 ? 'sequence_means' : 'token_mean';
}

/** Takes steps until the token is likely. */
async function teach(pupil: Pupil, rate: number): Promise<void> {
  for (let attempt = 1; pupil.logprob < taughtLogprob; attempt += 1) {
    if (attempt > maxAttempts) throw unmeasurable('its steps do not teach a token');
    await pupil.step({ rate: rate * 2 ** attempt });
  }
}

function unmeasurable(what: string): AgentLightningError {
  return new AgentLightningError({
    code: 'RUNTIME_REJECTED',
    message: `The Tinker server does not train as this client expects: ${what}`,
    remedy: 'Run `agl doctor`, and check that the server trains this model with LoRA.',
  });
}
