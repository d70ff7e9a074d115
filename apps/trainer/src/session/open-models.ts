import { AgentLightningError, NotFoundError, type Run } from '@agentlightning/core';
import type {
  Checkpoint,
  CreateModelOptions,
  RuntimeCapabilities,
  TrainableModel,
  TrainingBatch,
} from '@agentlightning/core/training-runtime';
import type { RuntimeConnection, RuntimeModel } from '@agentlightning/runtime';
import { modelName, projectOfCheckpoint, qualifiedRunId, referenceName, stagedPolicy } from '../config/model-name.ts';
import { policyKey, type ResolvedPolicy } from '../config/policies.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { loraOf, type ResolvedRuntime } from '../config/sections/runtime-config.ts';
import { presentStage } from '../run/run-stages.ts';
import type { RunState, TrainedBase } from '../run/run-state.ts';
import { checkpointRoot } from '../runtime/checkpoint-root.ts';
import { chooseBaseModel } from '../runtime/choose-base-model.ts';

/** A base model of a runtime. */
export interface BaseModel extends TrainedBase {
  /** Whether it is trained on images. */
  readonly readsImages: boolean;
}

/** A policy's model and its reference model. */
export interface OpenModel {
  readonly model: RuntimeModel;
  /** The base model, as the runtime describes it. */
  readonly base: BaseModel;
  /** Returns the initial model, for a KL term. */
  readonly reference: () => Promise<Pick<TrainableModel, 'logprobs'>>;
}

/** The run whose models are created, and their runtime. */
export interface ModelSource {
  readonly runtime: Pick<RuntimeConnection, 'createModel'>;
  readonly config: ResolvedConfig;
  readonly run: Run;
  readonly state: RunState;
  readonly capabilities: RuntimeCapabilities;
}

/**
 * Creates or finds the model of a policy, at the run's last checkpoint.
 *
 * @param options.index - the index of the policy in the configuration
 * @param options.hasValueHead - whether its algorithm needs value predictions
 * @throws AgentLightningError CONFLICT when the runtime has a trained model of that name and the run has no checkpoint, or
 *   when a checkpoint of that name belongs to another run; NOT_FOUND when the run's last checkpoint does not exist
 */
export async function openModel(
  source: ModelSource,
  options: { readonly policy: ResolvedPolicy; readonly index: number; readonly hasValueHead: boolean },
): Promise<OpenModel> {
  const { runtime, config, run, state, capabilities } = source;
  const { policy, index, hasValueHead } = options;
  // Models with random weights must differ.
  const seed = (state.seed + index) >>> 0;
  const { start } = presentStage(state);
  const initialCheckpoint = (start ?? state.from)?.uris[policyKey(policy)];
  if (initialCheckpoint !== undefined) assertOfProject(initialCheckpoint, config.project);
  const baseModel = chooseBaseModel(policy.baseModel ?? config.runtime.model, capabilities);
  const { license = null, readsImages = false } = capabilities.models.find(({ name }) => name === baseModel) ?? {};
  const base: BaseModel = { name: baseModel, license, readsImages };
  const origin: ModelOrigin = {
    baseModel,
    seed,
    ...(initialCheckpoint === undefined ? {} : { initialCheckpoint }),
  };
  const qualifiedId = qualifiedRunId(run.runId, config.project);
  const name = stagedPolicy(policy.name, config.stage);
  const modelId = modelName({ runId: qualifiedId, policy: name, naming: state.modelNaming });
  const modelOptions = modelOptionsOf(config.runtime, hasValueHead);
  const { model, hasOrigin } = await createModel(source, { ...origin, modelId, ...modelOptions });
  const uri = state.checkpoint?.uris[policyKey(policy)] ?? null;
  if (uri !== null) assertOwnCheckpoint(run.runId, await loadSaved(model, uri, source));
  else await assertUntrained(model, { runId: run.runId, isSaved: policy.algorithm !== null });
  if (!hasOrigin) return { model, base, reference: () => Promise.reject(missingOrigin(source)) };
  if (capabilities.features?.includes('reference_logprobs') === true) {
    const logprobs = (batch: TrainingBatch) => model.logprobs(batch, { useReference: true });
    return { model, base, reference: () => Promise.resolve({ logprobs }) };
  }
  // A second model, created on first use.
  let reference: Promise<TrainableModel> | null = null;
  return {
    model,
    base,
    reference: () => {
      const own = initialCheckpoint === undefined ? {} : modelOptions;
      reference ??= runtime.createModel({ ...origin, ...own, modelId: referenceName(qualifiedId, name) });
      return reference;
    },
  };
}

/** Checkpoints of other projects do not exist for a run, whatever its state says. */
export function assertOfProject(uri: string, project: string | undefined): void {
  if (projectOfCheckpoint(uri) !== project) throw new NotFoundError('Checkpoint', uri);
}

type ModelOrigin = Pick<CreateModelOptions, 'baseModel' | 'seed' | 'initialCheckpoint'>;

/**
 * Creates a model. A resumed run has its own checkpoints: it needs the one that it began with only as a reference.
 *
 * @returns `hasOrigin`: whether the model began with the requested weights
 */
async function createModel(
  source: ModelSource,
  options: CreateModelOptions,
): Promise<{ readonly model: RuntimeModel; readonly hasOrigin: boolean }> {
  const { runtime, state } = source;
  try {
    return { model: await runtime.createModel(options), hasOrigin: true };
  } catch (error) {
    const isMissing = AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND';
    if (!isMissing || options.initialCheckpoint === undefined) throw error;
    if (state.checkpoint === null) throw missingOrigin(source, error);
    const { initialCheckpoint: _missing, ...others } = options;
    return { model: await runtime.createModel(others), hasOrigin: false };
  }
}

function missingOrigin({ state, config, run }: ModelSource, cause?: unknown): AgentLightningError {
  const { from, dataDir } = state;
  const { start } = presentStage(state);
  const name = start === null ? `${from?.runId ?? ''}@${from?.step ?? ''}` : `${run.runId}@${start.step}`;
  const what = start === null ? 'run' : 'stage';
  return new AgentLightningError({
    code: 'NOT_FOUND',
    message: `the checkpoint ${name} that the ${what} began with is not in ${checkpointPlace(config, dataDir)}`,
    remedy:
      'Restore it from a backup, set `run.dataDir` (`--data-dir`) to the directory of that run, or choose another one.',
    cause,
  });
}

function checkpointPlace({ runtime }: ResolvedConfig, dataDir: string): string {
  return runtime.type !== 'grpc' ? checkpointRoot(dataDir) : 'the checkpoint folder of the runtime';
}

/** Loads the last checkpoint of the run. */
async function loadSaved(
  model: TrainableModel,
  uri: string,
  { config, run, state }: Pick<ModelSource, 'config' | 'run' | 'state'>,
): Promise<Checkpoint> {
  try {
    return await (await model.loadCheckpoint(uri)).result;
  } catch (error) {
    if (!AgentLightningError.isInstance(error) || error.code !== 'NOT_FOUND') throw error;
    const place = checkpointPlace(config, state.dataDir);
    throw new AgentLightningError({
      code: 'NOT_FOUND',
      message: `the last checkpoint of run ${run.runId}, ${uri}, is not in ${place}`,
      remedy:
        'Set `run.dataDir` (`--data-dir`) to the directory that the run was started with, restore the checkpoint from a backup, ' +
        'or start a new run.',
      details: { uri },
      cause: error,
    });
  }
}

/** The options of all models, from the configuration. */
export function modelOptionsOf(
  config: ResolvedRuntime,
  hasValueHead: boolean,
): Pick<CreateModelOptions, 'lora' | 'tokenizerSha256' | 'chatTemplateSha256' | 'hasValueHead'> {
  const head = hasValueHead ? { hasValueHead } : {};
  const lora = loraOf(config);
  const adapters = lora === undefined ? {} : { lora };
  if (config.type !== 'grpc') return { ...head, ...adapters };
  const { tokenizerSha256, chatTemplateSha256 } = config;
  return {
    ...head,
    ...adapters,
    ...(tokenizerSha256 === undefined ? {} : { tokenizerSha256 }),
    ...(chatTemplateSha256 === undefined ? {} : { chatTemplateSha256 }),
  };
}

/**
 * Asserts that the model is new. A runtime that was not restarted may have the model of another run with the same id, and
 * that run's checkpoints would be overwritten.
 */
async function assertUntrained(
  model: TrainableModel,
  { runId, isSaved }: { readonly runId: string; readonly isSaved: boolean },
): Promise<void> {
  const { step } = await model.state();
  if (step > 0) {
    throw new AgentLightningError({
      code: 'CONFLICT',
      message: `model "${model.modelId}" exists in the runtime, trained for ${step} steps`,
      remedy: 'Give the run another id (`--run`), or restart the runtime.',
    });
  }
  if (isSaved) for (const checkpoint of await model.listCheckpoints()) assertOwnCheckpoint(runId, checkpoint);
}

/** Runs with the one-hyphen naming scheme may have checkpoints of the same name. */
function assertOwnCheckpoint(runId: string, { uri, clientState }: Checkpoint): void {
  const owner = clientState['runId'];
  if (typeof owner !== 'string' || owner === runId) return;
  throw new AgentLightningError({
    code: 'CONFLICT',
    message: `the checkpoint ${uri} belongs to run "${owner}", not to "${runId}"`,
    remedy: 'Start a run with another id (`--run`), or in another data directory (`--data-dir`).',
  });
}
