import { AgentLightningError, type Run, type Store } from '@agentlightning/core';
import type { ModelVersion } from '@agentlightning/core/protocol';
import { isSearchRun, type RunState, readRunState } from '../run/run-state.ts';

type Addressed = Pick<ModelVersion, 'version' | 'run' | 'step'>;

/**
 * Checks that a training has not made a version significantly worse: its final model on the held-out tasks, and every version of a
 * run with guards on those. The other checkpoints of a run without guards have no verdict, and pass.
 *
 * @throws AgentLightningError CONFLICT with both rewards, or for a version of a run with guards that was not evaluated on them
 */
export function assertNotWorse(run: Run, { version, step }: Addressed): void {
  if (isSearchRun(run)) return;
  const state = readRunState(run, '');
  const { verdict, before, after, guards = {} } = state;
  const isFinal = step === null || step === (state.finalStep ?? state.finishedStep);
  if (isFinal && verdict === 'worse' && before !== null && after !== null) {
    throw worse(version, { what: 'held-out tasks', before: before.reward, after: after.reward });
  }
  for (const [name, guard] of Object.entries(guards)) {
    if (!isFinal || guard.after === null || guard.verdict === 'undecided') throw unknown(version, name, state);
    if (guard.verdict !== 'worse') continue;
    throw worse(version, { what: `guard ${name}`, before: guard.before.reward, after: guard.after.reward });
  }
}

/**
 * {@link assertNotWorse} for a version in the record of a deployment. Models that no run of the store has made pass.
 *
 * @throws AgentLightningError CONFLICT as {@link assertNotWorse}
 */
export async function assertDeployedNotWorse(store: Store, version: Addressed): Promise<void> {
  if (version.run === null) return;
  const run = await store.getRun(version.run).catch((error: unknown) => {
    if (AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND') return null;
    throw error;
  });
  if (run !== null) assertNotWorse(run, version);
}

const remedy =
  'Deploy another version; or, if the fall is accepted, pass `--accept-worse --reason "<why>"` to `agl deploy`.';

function worse(
  version: string,
  { what, before, after }: { readonly what: string; readonly before: number; readonly after: number },
): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFLICT',
    message: `${version} is worse on the ${what} than the model that its training began with: reward ${after.toFixed(2)} instead of ${before.toFixed(2)}`,
    remedy,
    details: { version, before, after },
  });
}

function unknown(version: string, guard: string, { finalStep, after }: RunState): AgentLightningError {
  const reason =
    after === null
      ? 'its run has not ended'
      : finalStep === null
        ? 'it was not measured'
        : `the run measured step ${finalStep}, or too many rewards were missing`;
  return new AgentLightningError({
    code: 'CONFLICT',
    message: `whether ${version} is worse on the guard ${guard} is not known: ${reason}`,
    remedy: `Deploy the final version of the run. ${remedy}`,
    details: { version, guard },
  });
}
