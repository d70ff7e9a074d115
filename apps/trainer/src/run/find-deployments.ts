import { AgentLightningError, type Store } from '@agentlightning/core';
import { type DeploymentState, neededVersions, readDeployment } from '@agentlightning/core/protocol';

/** A deployment of a store. */
export interface FoundDeployment {
  readonly name: string;
  readonly state: DeploymentState;
}

/** The deployments of a store, newest first. */
export async function findDeployments(store: Store): Promise<readonly FoundDeployment[]> {
  const { items } = await store.queryRuns({ kind: 'deployment' });
  return items.flatMap((run) => {
    const state = readDeployment(run);
    return state === null ? [] : [{ name: run.runId, state }];
  });
}

/**
 * The steps of a run whose checkpoints are live in a deployment, its candidate, or what a rollback restores; null when the
 * record of a deployment cannot be read, which may need any step.
 */
export async function findDeployedSteps(store: Store, runId: string): Promise<ReadonlySet<number> | null> {
  const steps = new Set<number>();
  try {
    for (const { state } of await findDeployments(store)) {
      for (const { version } of neededVersions(state)) {
        if (version.run === runId && version.step !== null) steps.add(version.step);
      }
    }
    return steps;
  } catch (error) {
    if (AgentLightningError.isInstance(error)) throw error;
    return null;
  }
}
