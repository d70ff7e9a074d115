import type { Run, RuntimeCapabilities, TrainableModel, TrainingRuntime } from '@agentlightning/core';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { RunState } from './run-state.ts';

/** The model that is trained, and the one it began as. */
export interface OpenModels {
  readonly policy: TrainableModel;
  readonly reference: () => Promise<TrainableModel>;
}

/** Makes or finds the run's model, at the run's last checkpoint. */
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
  if (state.checkpoint !== null) {
    const operation = await policy.loadCheckpoint(state.checkpoint.uri);
    await operation.result;
  }
  let reference: Promise<TrainableModel> | null = null;
  return {
    policy,
    reference: () => {
      reference ??= runtime.createModel({ ...origin, modelId: `${run.runId}-reference` });
      return reference;
    },
  };
}
