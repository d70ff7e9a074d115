import { runMetrics } from '../telemetry/run-metric-catalogue.ts';
import { type ModelUsage, modelUsageSchema } from './model-usage.ts';
import { type ModelPrice, type Prices, pricesSchema } from './prices.ts';
import type { MetricPoint, Run } from './run.ts';

/** What model calls and a training runtime cost. */
export interface Cost {
  /** The sum of all known costs; null when no price is known. */
  readonly amount: number | null;
  /** The currency of the amount, such as `USD`. */
  readonly currency: string;
  /** A text for each unknown price, with the setting that it needs. */
  readonly missing: readonly string[];
}

/** Number of tokens that a price is for. */
const tokensPerPrice = 1_000_000;

const msPerHour = 3_600_000;

/**
 * The cost of a run: the recorded token usage of its model calls at the prices of its configuration, and the time of its
 * finished steps at the price of the runtime's machine. The calls of a training runtime have no further price where its
 * machine has one.
 *
 * @param run - the run, whose record has the prices, and the usage of the optimiser model of a prompt search
 * @param recorded - the usage of the calls of its rollouts, and the metrics of its steps
 *
 * @example
 * ```ts
 * const { usage } = await store.runStatistics(runId);
 * const { amount, currency } = costOfRun(await store.getRun(runId), { usage, metrics: [] });
 * ```
 */
export function costOfRun(
  run: Pick<Run, 'config' | 'state'>,
  recorded: { readonly usage: readonly ModelUsage[]; readonly metrics: readonly MetricPoint[] },
): Cost {
  const prices = pricesOf(run);
  const optimizer = modelUsageSchema.safeParse(run.state['optimizerUsage']).data;
  const usage = optimizer === undefined ? recorded.usage : [...recorded.usage, optimizer];
  const calls = costOfCalls(usage, prices);
  const perHour = prices?.runtimePerHour ?? null;
  if (perHour === null) {
    const isServed = usage.some((used) => used.isPolicy && priceOf(used, prices) === null);
    return isServed ? { ...calls, missing: [...calls.missing, missingRuntimePrice] } : calls;
  }
  const stepMs = recorded.metrics.reduce(
    (sum, { values }) => sum + (values[runMetrics.stepSeconds.name] ?? 0) * 1000,
    0,
  );
  return { ...calls, amount: (calls.amount ?? 0) + (perHour * stepMs) / msPerHour };
}

const missingRuntimePrice = 'no price of the training runtime (run.prices.runtimePerHour)';

/**
 * The cost of model calls. Those of a training runtime have none unless their model has a price.
 *
 * @param prices - the prices of the run; null without any
 */
export function costOfCalls(usage: readonly ModelUsage[], prices: Prices | null): Cost {
  let amount: number | null = null;
  const missing = new Set<string>();
  for (const used of usage) {
    const { model, isPolicy, inputTokens, outputTokens } = used;
    const price = priceOf(used, prices);
    if (price !== null) amount = (amount ?? 0) + costOfUsage(used, price);
    else if (!isPolicy && inputTokens + outputTokens > 0) {
      missing.add(`no price of model ${model} (run.prices.models[${JSON.stringify(model)}])`);
    }
  }
  return { amount, currency: prices?.currency ?? 'USD', missing: [...missing] };
}

/** The date at the end of a model's name, as in `gpt-4.1-mini-2025-04-14` and `claude-sonnet-4-5-20250929`. */
const snapshotDate = /-\d{4}-?\d{2}-?\d{2}$/;

/** The price of a model, or of the name without its date: the one that agents request. */
function priceOf({ model }: ModelUsage, prices: Prices | null): ModelPrice | null {
  const models = new Map(Object.entries(prices?.models ?? {}));
  return models.get(model) ?? models.get(model.replace(snapshotDate, '')) ?? null;
}

/** The prices in the recorded configuration of a run; null without valid ones. */
export function pricesOf({ config }: Pick<Run, 'config'>): Prices | null {
  return pricesSchema.safeParse(config['prices']).data ?? null;
}

function costOfUsage(
  { inputTokens, cachedInputTokens, outputTokens }: ModelUsage,
  { input, cachedInput = input, output }: ModelPrice,
): number {
  const uncached = inputTokens - cachedInputTokens;
  return (uncached * input + cachedInputTokens * cachedInput + outputTokens * output) / tokensPerPrice;
}
