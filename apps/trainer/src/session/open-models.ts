import { AgentLightningError, type Run, type TrainingRuntime } from '@agentlightning/core';
import type {
  Checkpoint,
  CreateModelOptions,
  RuntimeCapabilities,
  TrainableModel,
  TrainingBatch,
} from '@agentlightning/core/training-runtime';
import { policyKey, type ResolvedPolicy } from '../config/policies.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { RuntimeConfig } from '../config/train-config.ts';
import { modelName, referenceName } from '../run/model-name.ts';
import type { RunState } from '../run/run-state.ts';
import { checkpointRoot } from '../runtime/checkpoint-root.ts';

/** A policy's model, and the one it began as. */
export interface OpenModel {
  readonly model: TrainableModel;
  /** The model as it was at the start, for a KL term. */
  readonly reference: () => Promise<Pick<TrainableModel, 'logprobs'>>;
}

/** Where models are made, and for which run. */
export interface ModelSource {
  readonly runtime: TrainingRuntime;
  readonly config: ResolvedConfig;
  readonly run: Run;
  readonly state: RunState;
  readonly capabilities: RuntimeCapabilities;
}

/**
 * Makes or finds the model of a policy, at the run's last checkpoint.
 *
 * @param options.index - the policy's place among those of the run
 * @param options.hasValueHead - whether its algorithm asks the model what it expects
 * @throws AgentLightningError CONFLICT when the runtime has a trained model of that name and the run has no checkpoint, or
 *   when what it has saved under that name is another run's; NOT_FOUND when the run's last checkpoint is gone
 */
export async function openModel(
  source: ModelSource,
  options: { readonly policy: ResolvedPolicy; readonly index: number; readonly hasValueHead: boolean },
): Promise<OpenModel> {
  const { runtime, config, run, state, capabilities } = source;
  const { policy, index, hasValueHead } = options;
  const fallback = config.runtime.type === 'embedded' ? 'tiny-chat' : capabilities.models[0]?.name;
  // Models that begin with random weights must not all begin with the same ones.
  const seed = (state.seed + index) >>> 0;
  const origin = { baseModel: policy.baseModel ?? config.runtime.model ?? fallback ?? 'default', seed };
  const modelId = modelName({ runId: run.runId, policy: policy.name, naming: state.modelNaming });
  const wishes = { ...wishesOf(config.runtime), ...(hasValueHead ? { hasValueHead } : {}) };
  const model = await runtime.createModel({ ...origin, modelId, ...wishes });
  const uri = state.checkpoint?.uris[policyKey(policy)] ?? null;
  if (uri !== null) assertOwn(run.runId, await loadSaved(model, uri, source));
  else await assertUntouched(model, { runId: run.runId, isSaved: policy.algorithm !== null });
  if (capabilities.features?.includes('reference_logprobs') === true) {
    const logprobs = (batch: TrainingBatch) => model.logprobs(batch, { useReference: true });
    return { model, reference: () => Promise.resolve({ logprobs }) };
  }
  // A second model, made when it is first asked for.
  let reference: Promise<TrainableModel> | null = null;
  return {
    model,
    reference: () => {
      reference ??= runtime.createModel({ ...origin, modelId: referenceName(run.runId, policy.name) });
      return reference;
    },
  };
}

/** Loads what the run goes on from. */
async function loadSaved(
  model: TrainableModel,
  uri: string,
  { config, run, state }: Pick<ModelSource, 'config' | 'run' | 'state'>,
): Promise<Checkpoint> {
  try {
    return await (await model.loadCheckpoint(uri)).result;
  } catch (error) {
    if (!AgentLightningError.isInstance(error) || error.code !== 'NOT_FOUND') throw error;
    const place =
      config.runtime.type === 'embedded' ? checkpointRoot(state.dataDir) : 'the checkpoint folder of the runtime';
    throw new AgentLightningError({
      code: 'NOT_FOUND',
      message: `the checkpoint ${uri}, which run ${run.runId} goes on from, is not in ${place}`,
      remedy:
        'Set `dataDir` (`--data-dir`) to the directory that the run began with, restore the checkpoint from a backup, ' +
        'or begin a new run.',
      details: { uri },
      cause: error,
    });
  }
}

/** What a configuration asks of every model that is trained. */
function wishesOf(config: RuntimeConfig): Pick<CreateModelOptions, 'lora' | 'tokenizerSha256' | 'chatTemplateSha256'> {
  if (config.type !== 'grpc') return {};
  const { lora, tokenizerSha256, chatTemplateSha256 } = config;
  return {
    ...(lora === undefined ? {} : { lora }),
    ...(tokenizerSha256 === undefined ? {} : { tokenizerSha256 }),
    ...(chatTemplateSha256 === undefined ? {} : { chatTemplateSha256 }),
  };
}

/**
 * A runtime that was not restarted may still have the model of another run with the same id. And what another run saved
 * under its name would be overwritten.
 */
async function assertUntouched(
  model: TrainableModel,
  { runId, isSaved }: { readonly runId: string; readonly isSaved: boolean },
): Promise<void> {
  const { step } = await model.state();
  if (step > 0) {
    throw new AgentLightningError({
      code: 'CONFLICT',
      message: `the runtime has a model "${model.modelId}" already, trained for ${step} steps`,
      remedy: 'Give the run another id (`--run`), or restart the runtime.',
    });
  }
  if (isSaved) for (const checkpoint of await model.listCheckpoints()) assertOwn(runId, checkpoint);
}

/** Runs that began when one hyphen stood between run and policy may have what they saved under the same name. */
function assertOwn(runId: string, { uri, clientState }: Checkpoint): void {
  const owner = clientState['runId'];
  if (typeof owner !== 'string' || owner === runId) return;
  throw new AgentLightningError({
    code: 'CONFLICT',
    message: `the checkpoint ${uri} is of the run "${owner}", not of "${runId}"`,
    remedy: 'Begin a run with another id (`--run`), or keep its data in another folder (`--data-dir`).',
  });
}
