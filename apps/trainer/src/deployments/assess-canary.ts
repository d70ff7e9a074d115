import { AgentLightningError, type Store } from '@agentlightning/core';
import type { DeploymentState } from '@agentlightning/core/protocol';
import { type Prices, pricesOf } from '@agentlightning/core/protocol';
import { type CanaryEvidence, readCanaryEvidence, type TrialMemory } from './canary-evidence.ts';
import { type CanaryVerdict, judgeCanary } from './canary-verdict.ts';

/** The state of a trial. */
export interface CanaryAssessment extends CanaryVerdict {
  readonly evidence: CanaryEvidence;
}

/**
 * Compares the candidate of a deployment with its live version, by the traces since the start of the trial.
 *
 * @param memory - what earlier assessments of the same trial have read
 * @returns null without a candidate
 */
export async function assessCanary(
  store: Store,
  deployment: string,
  { live, candidate, versions }: DeploymentState,
  memory?: TrialMemory,
): Promise<CanaryAssessment | null> {
  if (candidate === null || live === null) return null;
  const runs = versions.filter(({ version }) => version === live || version === candidate.version);
  const prices = await pricesOfRuns(
    store,
    runs.flatMap(({ run }) => run ?? []),
  );
  const { version, key: trial, sinceMs, maxCostRatio } = candidate;
  const evidence = await readCanaryEvidence(
    store,
    { deployment, live, candidate: version, trial, sinceMs, prices },
    memory,
  );
  return { ...judgeCanary(evidence, maxCostRatio), evidence };
}

/** The prices in the configurations of runs; those of the later runs count where both have one. */
async function pricesOfRuns(store: Store, runIds: readonly string[]): Promise<Prices | null> {
  const found = await Promise.all(
    runIds.map((runId) =>
      store.getRun(runId).then(pricesOf, (error: unknown) => {
        // A deleted run has no prices.
        if (AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND') return null;
        throw error;
      }),
    ),
  );
  const known = found.filter((prices) => prices !== null);
  const models = Object.assign({}, ...known.map((prices) => prices.models)) as Prices['models'];
  const last = known.at(-1);
  return last === undefined ? null : { ...last, models };
}
