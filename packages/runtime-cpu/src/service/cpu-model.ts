import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type {
  BatchResult,
  ForwardOptions,
  InferenceEndpoint,
  StepResult,
  TrainingBatch,
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
} from '@agentlightning/runtime';
import {
  type ChatModel,
  type ChatRequest,
  type ChatSampling,
  offeredTools,
  type TokenizeRequest,
} from '@agentlightning/runtime/internal/serving';
import { readCheckpoint, writeCheckpoint } from '../checkpoint/model-checkpoint.ts';
import type { ModelConfig } from '../model/model-config.ts';
import { parameterLayout } from '../model/parameters.ts';
import type { ModelEngine } from '../model-engine.ts';
import { Random } from '../random.ts';
import { renderPrompt } from '../text/chat-template.ts';
import { startChatSampling } from './chat-sampling.ts';
import type { CheckpointFolder } from './checkpoint-folder.ts';

/** Dependencies of a model. */
export interface CpuModelOptions {
  readonly modelId: string;
  readonly baseModel: string;
  readonly seed: number;
  /** Creates the initial model, for reference. */
  readonly loadReference: () => Promise<ModelEngine>;
  readonly engine: ModelEngine;
  readonly checkpoints: CheckpointFolder;
  /** The base URL of its endpoint, including `/v1`. */
  readonly baseUrl: string;
  /** Called when the model is unloaded, to remove it from the directory. */
  readonly onUnload: () => void;
}

/** One model behind the gRPC contract and the model API. */
export class CpuModel implements EngineModel, ChatModel {
  readonly modelId: string;
  readonly baseModel: string;
  readonly seed: number;
  /** Samples and trains. */
  readonly engine: ModelEngine;
  readonly #checkpoints: CheckpointFolder;
  readonly #baseUrl: string;
  readonly #onUnload: () => void;
  readonly #loadReference: () => Promise<ModelEngine>;
  #reference: Promise<ModelEngine> | null = null;
  #isPaused = false;
  /** Digest of the served weights. */
  #digest: string;

  constructor(options: CpuModelOptions) {
    this.modelId = options.modelId;
    this.baseModel = options.baseModel;
    this.seed = options.seed;
    this.engine = options.engine;
    this.#checkpoints = options.checkpoints;
    this.#baseUrl = options.baseUrl;
    this.#onUnload = options.onUnload;
    this.#loadReference = options.loadReference;
    this.#digest = digestOf(options.engine.parameters());
  }

  get closedBecause(): string | null {
    return this.#isPaused ? 'is paused' : null;
  }

  chat(request: ChatRequest, signal: AbortSignal): ChatSampling {
    return startChatSampling(this.engine, request, signal);
  }

  tokenize(request: TokenizeRequest): readonly number[] {
    const rendered = renderPrompt(request.messages, offeredTools(request));
    return request.add_generation_prompt === false ? rendered.slice(0, -1) : rendered;
  }

  state(): EngineModelState {
    const { step, weightVersion: policyVersion, config } = this.engine;
    return { step, policyVersion, isCorrupted: false, trainableParameterCount: parameterLayout(config).size };
  }

  async forwardBackward(batch: TrainingBatch, loss: ResolvedLoss, { onProgress }: WorkContext): Promise<BatchResult> {
    const { loss: sum, trainedTokens, metrics } = await this.engine.forwardBackward(batch.data, loss, onProgress);
    return { loss: sum, trainedTokens, metrics };
  }

  async forward(
    batch: TrainingBatch,
    { useReference = false, onProgress }: ForwardOptions & WorkContext,
  ): Promise<ForwardOutput> {
    const engine = useReference ? await this.#referenceEngine() : this.engine;
    const { logprobs, values } = await engine.forward(batch.data, onProgress);
    return { logprobs, ...(values && { values }) };
  }

  async optimStep(adam: ResolvedAdam): Promise<StepResult> {
    const { step, gradientNorm, isSkipped } = await this.engine.optimStep(adam);
    return { step, gradientNorm, isSkipped };
  }

  discardGradients(): Promise<void> {
    return this.engine.discardGradients();
  }

  async publishWeights(): Promise<InferenceEndpoint> {
    await this.engine.publishWeights();
    this.#digest = digestOf(this.engine.parameters());
    return await this.endpoint();
  }

  async saveCheckpoint(name: string, clientState: Uint8Array): Promise<EngineCheckpoint> {
    const file = await this.#checkpoints.fileOf(name);
    const saved = await this.engine.saveCheckpoint(file, clientState);
    return await this.#checkpoints.describe(name, { ...saved, clientState });
  }

  async loadCheckpoint(uri: string): Promise<EngineCheckpoint> {
    const checkpoint = await this.#checkpoints.read(uri);
    await this.engine.loadCheckpoint(this.#checkpoints.fileOfUri(uri));
    this.#digest = digestOf(this.engine.parameters());
    return checkpoint;
  }

  async exportWeights({ uri }: ExportOptions): Promise<EngineArtifact> {
    if (uri === undefined) {
      const { config, step, weightVersion } = this.engine;
      return await exportWeights({ config, parameters: this.engine.parameters(), step, weightVersion });
    }
    const { step } = await this.#checkpoints.read(uri);
    return await exportWeights({ ...(await readCheckpoint(this.#checkpoints.fileOfUri(uri))), step });
  }

  listCheckpoints(): Promise<readonly EngineCheckpoint[]> {
    return this.#checkpoints.list();
  }

  deleteCheckpoint(uri: string): Promise<void> {
    return this.#checkpoints.delete(uri);
  }

  endpoint(): Promise<InferenceEndpoint> {
    const { modelId, engine } = this;
    const weights = { digest: this.#digest };
    return Promise.resolve({ baseUrl: this.#baseUrl, model: modelId, policyVersion: engine.weightVersion, weights });
  }

  async pause(mode: PauseMode): Promise<InferenceState> {
    this.#isPaused = true;
    if (mode === 'abort') this.engine.abortSamples('The model was paused');
    await this.engine.whenIdle();
    return this.#inferenceState();
  }

  resume(): Promise<InferenceState> {
    this.#isPaused = false;
    return Promise.resolve(this.#inferenceState());
  }

  async unload(): Promise<void> {
    this.#onUnload();
    this.engine.abortSamples('The model was unloaded');
    await this.engine.whenIdle();
  }

  /** Created on first use; most runs do not need it. */
  #referenceEngine(): Promise<ModelEngine> {
    this.#reference ??= this.#loadReference();
    return this.#reference;
  }

  #inferenceState(): InferenceState {
    const { activeSamples: inFlight, weightVersion: policyVersion } = this.engine;
    return { isPaused: this.#isPaused, inFlight, policyVersion };
  }
}

/** Digest of weights in the order of their layout. */
function digestOf(parameters: Float32Array): string {
  return `sha256:${createHash('sha256').update(parameters).digest('hex')}`;
}

/** Weights without training state. */
interface ExportedWeights {
  readonly config: ModelConfig;
  readonly parameters: Float32Array;
  /** Number of optimizer steps in the weights. */
  readonly step: number;
  readonly weightVersion: number;
}

/** Writes weights as safetensors, with the model's shape beside them, to a separate folder. */
async function exportWeights({ config, parameters, step, weightVersion }: ExportedWeights): Promise<EngineArtifact> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agentlightning-export-'));
  const weightFile = path.join(folder, 'model.safetensors');
  const configFile = path.join(folder, 'config.json');
  // The random state is the initial one: an export does not continue sampling.
  const random = Random.fromSeed(0).state;
  await writeCheckpoint(weightFile, { config, parameters, weightVersion, random, clientState: new Uint8Array() });
  await writeFile(configFile, `${JSON.stringify(config, null, 2)}\n`);
  return {
    files: [
      { path: 'model.safetensors', file: weightFile },
      { path: 'config.json', file: configFile },
    ],
    step,
    discard: () => rm(folder, { recursive: true, force: true }),
  };
}
