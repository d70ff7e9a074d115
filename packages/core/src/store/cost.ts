import * as z from 'zod';
import { type ModelUsage, modelUsageSchema } from './model-usage.ts';
import { type ModelPrice, type Prices, pricesSchema } from './prices.ts';
import type { Run } from './run.ts';

/** What model calls and a training runtime cost. */
export interface Cost {
  /** The sum of all known costs; null when no price is known. */
  readonly amount: number | null;
  /** The currency of the amount, such as `USD`. */
  readonly currency: string;
  /** A text for each unknown price, with the setting that it needs. */
  readonly missing: readonly string[];
}

/** What a run has used beside model calls, in its recorded state. */
export interface RunEffort {
  /** The time in which the run was worked on, evaluations included, in seconds. Interrupted steps do not count. */
  readonly seconds: number;
  /** The tokens that were trained on, with their prompts; each as often as it was. */
  readonly trainingTokens: number;
}

/** Validates {@link RunEffort}; absent in older states. Marked as pure: bundles of agents leave it out. */
export const runEffortSchema: z.ZodType<RunEffort> = /* @__PURE__ */ (() =>
  z.object({ seconds: z.number().min(0).default(0), trainingTokens: z.number().min(0).default(0) }))();

/** Number of tokens that a price is for. */
const tokensPerPrice = 1_000_000;

const secondsPerHour = 3600;

/**
 * The cost of a run: the recorded token usage of its model calls and judges at the prices of its configuration, and what the
 * training runtime charges: by the hour in which the run was worked on, or by token.
 *
 * @param run - the run, whose record has the prices, the usage of the optimiser model of a prompt search, and its effort
 * @param usage - of the calls of its rollouts
 *
 * @example
 * ```ts
 * const { usage } = await store.runStatistics(runId);
 * const { amount, currency } = costOfRun(await store.getRun(runId), usage);
 * ```
 */
export function costOfRun(run: Pick<Run, 'config' | 'state'>, usage: readonly ModelUsage[]): Cost {
  const prices = pricesOf(run);
  const used = completeUsage(run, usage);
  const calls = costOfCalls(used, prices);
  const { runtimePerHour: perHour = null, runtimeTokens: perToken = null } = prices ?? {};
  if (perHour === null && perToken === null) {
    const isServed = used.some((each) => each.isPolicy && priceOf(each, prices) === null);
    return isServed ? { ...calls, missing: [...calls.missing, missingRuntimePrice] } : calls;
  }
  const { seconds, trainingTokens } = effortOf(run);
  const charged =
    ((perHour ?? 0) * seconds) / secondsPerHour + ((perToken?.training ?? 0) * trainingTokens) / tokensPerPrice;
  return { ...calls, amount: (calls.amount ?? 0) + charged };
}

/** The usage of the rollouts of a run, and of the optimiser model of a prompt search. */
export function completeUsage({ state }: Pick<Run, 'state'>, usage: readonly ModelUsage[]): readonly ModelUsage[] {
  const optimizer = modelUsageSchema.safeParse(state['optimizerUsage']).data;
  return optimizer === undefined ? usage : [...usage, optimizer];
}

/** The recorded effort of a run; zeros without one. */
export function effortOf({ state }: Pick<Run, 'state'>): RunEffort {
  return runEffortSchema.safeParse(state['effort']).data ?? { seconds: 0, trainingTokens: 0 };
}

const missingRuntimePrice = 'no price of the training runtime (run.prices.runtimePerHour or run.prices.runtimeTokens)';

/**
 * The cost of model calls. Those of a training runtime have none unless their model, or its tokens, have a price.
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
function priceOf({ model, isPolicy }: ModelUsage, prices: Prices | null): ModelPrice | null {
  const models = new Map(Object.entries(prices?.models ?? {}));
  const known = models.get(model) ?? models.get(model.replace(snapshotDate, ''));
  if (known !== undefined) return known;
  const { prefill, sampling } = prices?.runtimeTokens ?? {};
  return !isPolicy || prefill === undefined || sampling === undefined ? null : { input: prefill, output: sampling };
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
