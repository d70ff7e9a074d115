import { AgentLightningError } from '@agentlightning/core';
import type {
  BatchResult,
  CreateModelOptions,
  ForwardOptions,
  InferenceEndpoint,
  StepResult,
  TrainingBatch,
  TrainingDatum,
} from '@agentlightning/core/training-runtime';
import type {
  EngineArtifact,
  EngineCheckpoint,
  EngineModel,
  EngineModelState,
  ExportOptions,
  ForwardOutput,
  InferenceState,
  PauseMode,
  ResolvedAdam,
  ResolvedLoss,
  WorkContext,
} from '../../src/index.ts';
import { referenceTokenLoss } from '../../src/losses/reference-loss.ts';
import { BagCheckpoints } from './bag-checkpoints.ts';
import { exportBag } from './bag-export.ts';
import { addGradient, nextToken, parameterCount, trainedPositions } from './bag-policy.ts';
import { type BagState, initialState } from './bag-state.ts';

/** The test policy as an engine's model: real losses, real gradients, real Adam. */
export class BagModel implements EngineModel {
  readonly modelId: string;
  readonly baseModel: string;
  readonly seed: number;
  isPaused = false;
  inFlight = 0;
  /** The weights that the endpoint serves. */
  served: Float32Array;
  #state: BagState;
  #gradient = new Float64Array(parameterCount);
  #highestVersion = 0;
  readonly #checkpoints: BagCheckpoints;
  readonly #baseUrl: string;

  constructor(options: CreateModelOptions, place: { directory: string; baseUrl: string }) {
    this.modelId = options.modelId;
    this.baseModel = options.baseModel;
    this.seed = options.seed;
    this.#state = initialState(options.seed);
    this.served = this.#state.parameters.slice();
    this.#checkpoints = new BagCheckpoints(place.directory, options.modelId);
    this.#baseUrl = place.baseUrl;
  }

  state(): EngineModelState {
    const { step, policyVersion } = this.#state;
    return { step, policyVersion, isCorrupted: false };
  }

  async forwardBackward(batch: TrainingBatch, loss: ResolvedLoss, { onProgress }: WorkContext): Promise<BatchResult> {
    let total = 0;
    let trainedTokens = 0;
    let entropy = 0;
    const scores = this.#logprobs(batch, this.#state);
    for (const [index, datum] of batch.data.entries()) {
      const meanLogRatio = meanLogRatioOf(datum, scores[index] ?? new Float32Array());
      for (const [at, position] of trainedPositions(datum).entries()) {
        const { temperature, tokenIds } = datum;
        const next = nextToken(this.#state.parameters, tokenIds.subarray(0, position), temperature);
        const token = tokenIds[position] ?? 0;
        const term = referenceTokenLoss(loss, {
          logprob: next.logprobs[token] ?? 0,
          samplingLogprob: datum.samplingLogprobs[at] ?? 0,
          referenceLogprob: datum.referenceLogprobs?.[at],
          advantage: datum.advantages[at] ?? 0,
          meanLogRatio,
          entropy: next.entropy,
        });
        const weight = datum.weights[at] ?? 0;
        total += Math.fround(weight * term.value);
        const logprobSlope = Math.fround(weight * term.logprobSlope);
        const entropySlope = weight * term.entropySlope;
        addGradient(this.#gradient, next, { token, logprobSlope, entropySlope, temperature });
        trainedTokens += 1;
        entropy += next.entropy;
      }
      onProgress(tokensOf(batch.data.slice(0, index + 1)));
    }
    if (!Number.isFinite(total)) throw nonFinite(total);
    const metrics = { 'policy/entropy': entropy / Math.max(trainedTokens, 1) };
    return { loss: total, trainedTokens, metrics };
  }

  async forward(batch: TrainingBatch, options: ForwardOptions & WorkContext): Promise<ForwardOutput> {
    const state = options.useReference === true ? initialState(this.seed) : this.#state;
    const logprobs = this.#logprobs(batch, state);
    options.onProgress(tokensOf(batch.data));
    return { logprobs };
  }

  #logprobs(batch: TrainingBatch, { parameters }: BagState): readonly Float32Array[] {
    return batch.data.map((datum) =>
      Float32Array.from(trainedPositions(datum), (position) => {
        const context = datum.tokenIds.subarray(0, position);
        const next = nextToken(parameters, context, datum.temperature);
        return next.logprobs[datum.tokenIds[position] ?? 0] ?? 0;
      }),
    );
  }

  async optimStep(adam: ResolvedAdam): Promise<StepResult> {
    const state = this.#state;
    const gradientNorm = Math.hypot(...this.#gradient);
    const { gradientClipNorm: clip } = adam;
    const scale = clip > 0 && gradientNorm > clip ? clip / gradientNorm : 1;
    state.step += 1;
    for (let index = 0; index < parameterCount; index += 1) {
      const slope = (this.#gradient[index] ?? 0) * scale;
      const first = adam.beta1 * (state.firstMoment[index] ?? 0) + (1 - adam.beta1) * slope;
      const second = adam.beta2 * (state.secondMoment[index] ?? 0) + (1 - adam.beta2) * slope ** 2;
      state.firstMoment[index] = first;
      state.secondMoment[index] = second;
      const corrected = first / (1 - adam.beta1 ** state.step);
      const spread = Math.sqrt(second / (1 - adam.beta2 ** state.step)) + adam.epsilon;
      const before = state.parameters[index] ?? 0;
      state.parameters[index] = before - adam.learningRate * (corrected / spread + adam.weightDecay * before);
    }
    await this.discardGradients();
    return { step: state.step, gradientNorm, isSkipped: false };
  }

  async discardGradients(): Promise<void> {
    this.#gradient = new Float64Array(parameterCount);
  }

  async exportWeights({ uri }: ExportOptions): Promise<EngineArtifact> {
    return exportBag(uri === undefined ? this.#state : (await this.#checkpoints.load(uri)).state);
  }

  async publishWeights(): Promise<InferenceEndpoint> {
    this.#highestVersion += 1;
    this.#state.policyVersion = this.#highestVersion;
    this.served = this.#state.parameters.slice();
    return this.endpoint();
  }

  saveCheckpoint(name: string, clientState: Uint8Array): Promise<EngineCheckpoint> {
    return this.#checkpoints.save(name, this.#state, clientState);
  }

  async loadCheckpoint(uri: string): Promise<EngineCheckpoint> {
    const { checkpoint, state } = await this.#checkpoints.load(uri);
    this.#state = state;
    this.#highestVersion = Math.max(this.#highestVersion, state.policyVersion);
    this.served = state.parameters.slice();
    await this.discardGradients();
    return checkpoint;
  }

  listCheckpoints(): Promise<readonly EngineCheckpoint[]> {
    return this.#checkpoints.list();
  }

  deleteCheckpoint(uri: string): Promise<void> {
    return this.#checkpoints.delete(uri);
  }

  async endpoint(): Promise<InferenceEndpoint> {
    return { baseUrl: this.#baseUrl, model: this.modelId, policyVersion: this.#state.policyVersion };
  }

  async pause(_mode: PauseMode): Promise<InferenceState> {
    this.isPaused = true;
    return this.#inferenceState();
  }

  async resume(): Promise<InferenceState> {
    this.isPaused = false;
    return this.#inferenceState();
  }

  async unload(): Promise<void> {}

  #inferenceState(): InferenceState {
    const { isPaused, inFlight } = this;
    return { isPaused, inFlight, policyVersion: this.#state.policyVersion };
  }
}

function tokensOf(data: readonly TrainingDatum[]): number {
  return data.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
}

function meanLogRatioOf({ samplingLogprobs, weights }: TrainingDatum, logprobs: Float32Array): number {
  const differences = [...logprobs].flatMap((logprob, at) =>
    weights[at] === 0 ? [] : [logprob - (samplingLogprobs[at] ?? 0)],
  );
  return differences.reduce((sum, difference) => sum + difference, 0) / Math.max(1, differences.length);
}

function nonFinite(loss: number): AgentLightningError {
  return new AgentLightningError({ code: 'NON_FINITE', message: `The loss is ${loss}` });
}
