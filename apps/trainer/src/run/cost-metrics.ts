import type { Run, Store } from '@agentlightning/core';
import { runMetrics } from '@agentlightning/core/metrics';
import { completeUsage, costOfCalls, costOfRun, pricesOf, type RunEffort } from '@agentlightning/core/protocol';

/** The metrics of the cost of a run so far, in the currency of its prices: of its model calls, and of all; none without known prices. */
export async function costMetrics({
  store,
  run,
  effort,
}: {
  readonly store: Store;
  readonly run: Run;
  readonly effort: RunEffort;
}): Promise<Readonly<Record<string, number>>> {
  if (run.config['prices'] == null) return {};
  const { usage } = await store.runStatistics(run.runId);
  const { config, state } = await store.getRun(run.runId);
  const current = { config, state: { ...state, effort: { ...effort } } };
  const amounts = {
    [runMetrics.modelCallCost.name]: costOfCalls(completeUsage(current, usage), pricesOf(run)).amount,
    [runMetrics.runCost.name]: costOfRun(current, usage).amount,
  };
  return Object.fromEntries(
    Object.entries(amounts).flatMap(([name, amount]) => (amount === null || amount === 0 ? [] : [[name, amount]])),
  );
}
