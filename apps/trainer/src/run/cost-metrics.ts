import type { Run, Store } from '@agentlightning/core';
import { runMetrics } from '@agentlightning/core/metrics';
import { completeUsage, costOfCalls, pricesOf } from '@agentlightning/core/protocol';

/** The metric of the cost of all model calls of a run so far, in the currency of its prices; none without a known price. */
export async function costMetrics({
  store,
  run,
}: {
  readonly store: Store;
  readonly run: Run;
}): Promise<Readonly<Record<string, number>>> {
  if (run.config['prices'] == null) return {};
  const { usage } = await store.runStatistics(run.runId);
  const { amount } = costOfCalls(completeUsage(await store.getRun(run.runId), usage), pricesOf(run));
  return amount === null || amount === 0 ? {} : { [runMetrics.modelCallCost.name]: amount };
}
