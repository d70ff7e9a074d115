import { randomUUID } from 'node:crypto';
import { AgentLightningError, type Clock } from '@agentlightning/core';
import type {
  BatchResult,
  ForwardOptions,
  InferenceEndpoint,
  StepResult,
  TrainingBatch,
} from '@agentlightning/core/training-runtime';
import type {
  EngineCheckpoint,
  EngineModel,
  EngineModelState,
  ForwardOutput,
  InferenceState,
  PauseMode,
  ResolvedAdam,
  ResolvedLoss,
  WorkContext,
} from '@agentlightning/runtime';
import {
  type ChatModel,
  type ChatRequest,
  type ChatSampling,
  offeredTools,
  type TokenizeRequest,
} from '@agentlightning/runtime/internal/serving';
import type { ServerProfile } from '../profile.ts';
import { startChat } from '../serving/tinker-chat.ts';
import type { ModelText } from '../text/model-text.ts';
import type { RemoteModel } from '../wire/remote-model.ts';
import type { RemoteSampler } from '../wire/remote-sampler.ts';
import type { SampledSequence, SampleRequest } from '../wire/sample-messages.ts';
import type { RemoteModelOptions, TinkerSession } from '../wire/tinker-session.ts';
import { type LinearisedDatum, linearise, stepData, trainedPositions } from './accumulated-batch.ts';
import type { CheckpointFolder } from './checkpoint-folder.ts';
import { InFlight } from './in-flight.ts';
import { probeWeights } from './weight-probe.ts';

/** Dependencies of a model. */
export interface TinkerModelOptions {
  readonly modelId: string;
  readonly remoteOptions: RemoteModelOptions;
  readonly session: TinkerSession;
  readonly profile: ServerProfile;
  readonly text: ModelText;
  readonly checkpoints: CheckpointFolder;
  readonly clock: Clock;
  /** The server's URI of the weights that the model begins with. Absent: those of the base. */
  readonly initialWeights?: string;
  /** The base URL of its endpoint, including `/v1`. */
  readonly baseUrl: string;
  /** Called when the model is unloaded. */
  readonly onUnload: () => void;
}

/** One model: its weights and its optimizer are on the server, its state is here. */
export class TinkerModel implements EngineModel, ChatModel {
  readonly modelId: string;
  readonly #options: TinkerModelOptions;
  readonly #inFlight = new InFlight();
  #remote: RemoteModel;
  #sampler: RemoteSampler;
  #reference: Promise<RemoteModel> | null = null;
  #pending: LinearisedDatum[] = [];
  #hasPending = false;
  #step = 0;
  #policyVersion = 0;
  #highestVersion = 0;
  #isCorrupted = false;
  #isPaused = false;
  /** Whether samples would come from weights that are not published. */
  #isStale = false;
  /** Whether the weights in training are those that are served. */
  #isPublished = true;

  private constructor(options: TinkerModelOptions, remote: RemoteModel, sampler: RemoteSampler) {
    this.modelId = options.modelId;
    this.#options = options;
    this.#remote = remote;
    this.#sampler = sampler;
  }

  /** Creates the model on the server, and serves its initial weights. */
  static async create(options: TinkerModelOptions): Promise<TinkerModel> {
    const remote = await newRemote(options);
    const sampler = await remote.publish();
    await probeWeights({ sampler, model: remote, text: options.text });
    return new TinkerModel(options, remote, sampler);
  }

  get baseModel(): string {
    return this.#options.remoteOptions.baseModel;
  }

  get seed(): number {
    return this.#options.remoteOptions.seed;
  }

  get closedBecause(): string | null {
    if (this.#isPaused) return 'is paused';
    return this.#isStale ? 'has weights that are not published yet' : null;
  }

  state(): EngineModelState {
    return { step: this.#step, policyVersion: this.#policyVersion, isCorrupted: this.#isCorrupted };
  }

  async forwardBackward(batch: TrainingBatch, loss: ResolvedLoss, { onProgress }: WorkContext): Promise<BatchResult> {
    const logprobs = await this.#score(batch, this.#remote);
    const { data, ...result } = linearise(batch, loss, logprobs);
    this.#pending.push(...data);
    this.#hasPending = true;
    onProgress(batch.data.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0));
    return result;
  }

  async forward(batch: TrainingBatch, { useReference = false }: ForwardOptions & WorkContext): Promise<ForwardOutput> {
    if (useReference) this.#reference ??= newRemote(this.#options);
    return { logprobs: await this.#score(batch, (useReference && (await this.#reference)) || this.#remote) };
  }

  async optimStep(adam: ResolvedAdam): Promise<StepResult> {
    if (!this.#hasPending) {
      throw new AgentLightningError({
        code: 'PRECONDITION_FAILED',
        message: 'There are no gradients to take a step with',
        remedy: 'Send a forward-backward batch before the optimizer step.',
      });
    }
    const { lossScale, hasSnapshots } = this.#options.profile;
    const data = stepData(this.#pending, lossScale);
    await this.discardGradients();
    if (!hasSnapshots) {
      this.#isStale = true;
      await this.#inFlight.whenIdle();
    }
    this.#isPublished = false;
    // A failure in between leaves it unknown what the server has applied.
    this.#isCorrupted = true;
    const passes = this.#remote.addGradients(data, { multipliesByTokens: lossScale === 'token_mean' });
    const [metrics] = await Promise.all([passes.then(() => this.#remote.step(adam)), passes]);
    this.#isCorrupted = false;
    this.#step += 1;
    const [, gradientNorm] =
      Object.entries(metrics).find(([name]) => /grad(ient)?_norm$/.test(name.split(':')[0] ?? '')) ?? [];
    return { step: this.#step, isSkipped: false, ...(gradientNorm === undefined ? {} : { gradientNorm }) };
  }

  discardGradients(): Promise<void> {
    this.#pending = [];
    this.#hasPending = false;
    return Promise.resolve();
  }

  async publishWeights(): Promise<InferenceEndpoint> {
    await this.#serve(this.#highestVersion + 1);
    return await this.endpoint();
  }

  async saveCheckpoint(name: string, clientState: Uint8Array): Promise<EngineCheckpoint> {
    const { checkpoints, session, remoteOptions } = this.#options;
    checkpoints.assertName(name);
    const older = await checkpoints.facts(`${this.modelId}/${name}`).catch(absent);
    const weights = await this.#remote.saveWeights(`${name.slice(0, 40)}-${this.#step}-${randomUUID()}`);
    const saved = await checkpoints.write(name, {
      weights,
      baseModel: remoteOptions.baseModel,
      rank: remoteOptions.rank,
      step: this.#step,
      policyVersion: this.#policyVersion,
      createdAtMs: this.#options.clock.now(),
      clientState: Buffer.from(clientState).toString('base64'),
    });
    if (older !== null) await session.deleteWeights(older.weights);
    return saved;
  }

  async loadCheckpoint(uri: string): Promise<EngineCheckpoint> {
    const { checkpoints, session, remoteOptions } = this.#options;
    const checkpoint = await checkpoints.checkpoint(uri);
    const { weights } = await checkpoints.facts(uri);
    // Weights can be loaded into a new model only.
    const fresh = await session.loadModel(remoteOptions, weights, true);
    const old = this.#remote;
    this.#remote = fresh;
    await this.discardGradients();
    this.#step = checkpoint.step;
    this.#isCorrupted = false;
    await this.#serve(checkpoint.policyVersion);
    await old.unload();
    return checkpoint;
  }

  listCheckpoints(): Promise<readonly EngineCheckpoint[]> {
    return this.#options.checkpoints.list();
  }

  async deleteCheckpoint(uri: string): Promise<void> {
    const { checkpoints, session } = this.#options;
    const { weights } = await checkpoints.facts(uri);
    await checkpoints.delete(uri);
    await session.deleteWeights(weights);
  }

  endpoint(): Promise<InferenceEndpoint> {
    const { modelId: model } = this;
    return Promise.resolve({ baseUrl: this.#options.baseUrl, model, policyVersion: this.#policyVersion });
  }

  async pause(mode: PauseMode): Promise<InferenceState> {
    this.#isPaused = true;
    if (mode === 'abort') this.#inFlight.abort('The model was paused');
    await this.#inFlight.whenIdle();
    return this.#inferenceState();
  }

  resume(): Promise<InferenceState> {
    this.#isPaused = false;
    return Promise.resolve(this.#inferenceState());
  }

  async unload(): Promise<void> {
    this.#options.onUnload();
    this.#inFlight.abort('The model was unloaded');
    await this.#inFlight.whenIdle();
    await this.#remote.unload();
    await (await this.#reference)?.unload();
  }

  chat(request: ChatRequest, signal: AbortSignal): ChatSampling {
    const sampler = this.#sampler;
    const sample = (wanted: SampleRequest): Promise<SampledSequence> =>
      this.#inFlight.track(sampler.sample(this.#drawn(wanted)));
    const score = (prompt: readonly number[], response: readonly number[]): Promise<readonly number[]> =>
      this.#inFlight.track(this.#scoreResponse(prompt, response));
    const { text } = this.#options;
    return startChat({ text, policyVersion: this.#policyVersion, sample, score }, request, signal);
  }

  /** A request whose sample is drawn: some servers take the likeliest tokens unless `top_p` is below 1, if only by a rounding error. */
  #drawn(wanted: SampleRequest): SampleRequest {
    const isLikeliest = !this.#options.profile.drawsFromAll && wanted.temperature === 1 && wanted.topP === 1;
    return isLikeliest ? { ...wanted, topP: almostAll } : wanted;
  }

  tokenize({
    messages,
    add_generation_prompt: adds,
    chat_template_kwargs: settings,
    ...rest
  }: TokenizeRequest): readonly number[] {
    const { text } = this.#options;
    return text.encode(text.template.render({ messages, tools: offeredTools(rest), settings }, adds ?? true));
  }

  /** Scored by a pass, so the weights in training must be those that are served. */
  async #scoreResponse(prompt: readonly number[], response: readonly number[]): Promise<readonly number[]> {
    if (!this.#isPublished) {
      throw new AgentLightningError({
        code: 'PRECONDITION_FAILED',
        message: `Model "${this.modelId}" was trained after its weights were published, so a given response cannot be scored with those that are served`,
        remedy: 'Publish the weights first.',
      });
    }
    const tokenIds = Int32Array.from([...prompt, ...response]);
    const [scored = new Float32Array()] = await this.#remote.score([{ tokenIds, inputs: onesFor(tokenIds) }]);
    return [...scored.subarray(prompt.length - 1)];
  }

  /** Serves the current weights, and proves that samples come from them. */
  async #serve(version: number): Promise<void> {
    const sampler = await this.#remote.publish();
    await probeWeights({ sampler, model: this.#remote, text: this.#options.text });
    this.#sampler = sampler;
    this.#policyVersion = version;
    this.#highestVersion = Math.max(this.#highestVersion, version);
    this.#isStale = false;
    this.#isPublished = true;
  }

  async #score(batch: TrainingBatch, model: RemoteModel): Promise<readonly Float32Array[]> {
    const scored = await model.score(batch.data.map(({ tokenIds }) => ({ tokenIds, inputs: onesFor(tokenIds) })));
    return batch.data.map((datum, index) => {
      const all = scored[index] ?? new Float32Array();
      const logprobs = Float32Array.from(trainedPositions(datum), (position) => all[position - 1] ?? Number.NaN);
      if (logprobs.every(Number.isFinite)) return logprobs;
      this.#isCorrupted = model === this.#remote;
      throw new AgentLightningError({
        code: 'NON_FINITE',
        message: `The server returned log-probabilities of datum ${index} that are not finite`,
        remedy: 'Resume from the last checkpoint with a lower learning rate.',
      });
    });
  }

  #inferenceState(): InferenceState {
    return { isPaused: this.#isPaused, inFlight: this.#inFlight.count, policyVersion: this.#policyVersion };
  }
}

/** Leaves out tokens with a millionth of the probability together. */
const almostAll = 1 - 1e-6;

/** The mask of a scored sequence: servers that average divide by its sum. */
function onesFor(tokenIds: Int32Array): { readonly weights: Float32Array } {
  return { weights: new Float32Array(tokenIds.length - 1).fill(1) };
}

async function newRemote({ session, remoteOptions, initialWeights }: TinkerModelOptions): Promise<RemoteModel> {
  return initialWeights === undefined
    ? await session.createModel(remoteOptions)
    : await session.loadModel(remoteOptions, initialWeights, false);
}

function absent(error: unknown): null {
  if (AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND') return null;
  throw error;
}
