import {
  AgentLightningError,
  type Run,
  type RuntimeCapabilities,
  type TrainableModel,
  type TrainingRuntime,
} from '@agentlightning/core';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { RunState } from './run-state.ts';

/** The model that is trained, and the one it began as. */
export interface OpenModels {
  readonly policy: TrainableModel;
  readonly reference: () => Promise<TrainableModel>;
}

/**
 * Makes or finds the run's model, at the run's last checkpoint.
 *
 * @throws AgentLightningError CONFLICT when the runtime has a trained model of that name and the run has no checkpoint
 */
export async function openModels(options: {
  readonly runtime: TrainingRuntime;
  readonly config: ResolvedConfig;
  readonly run: Run;
  readonly state: RunState;
  readonly capabilities: RuntimeCapabilities;
}): Promise<OpenModels> {
  const { runtime, config, run, state, capabilities } = options;
  const fallback = config.runtime.type === 'embedded' ? 'tiny-chat' : capabilities.models[0]?.name;
  const origin = { baseModel: config.runtime.model ?? fallback ?? 'default', seed: state.seed };
  const policy = await runtime.createModel({ ...origin, modelId: run.runId });
  if (state.checkpoint === null) await assertUntrained(policy, run.runId);
  else await (await policy.loadCheckpoint(state.checkpoint.uri)).result;
  let reference: Promise<TrainableModel> | null = null;
  return {
    policy,
    reference: () => {
      reference ??= runtime.createModel({ ...origin, modelId: `${run.runId}-reference` });
      return reference;
    },
  };
}

/** A runtime that was not restarted may still have the model of another run with the same id. */
async function assertUntrained(policy: TrainableModel, runId: string): Promise<void> {
  const { step } = await policy.state();
  if (step === 0) return;
  throw new AgentLightningError({
    code: 'CONFLICT',
    message: `the runtime has a model "${runId}" already, trained for ${step} steps`,
    remedy: 'Give the run another id (`--run`), or restart the runtime.',
  });
}
