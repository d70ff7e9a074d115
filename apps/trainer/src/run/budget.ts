/**
 * The budget of a run, in money, tokens and hours. It is checked before each step, evaluation during training and trial of a
 * prompt: what has begun is finished, so that nothing is paid for twice when the run resumes, and a budget is exceeded by at most
 * one of them. The evaluation at the end is part of the result and is not checked.
 *
 * @module
 */
import { AgentLightningError, type Run, type Store } from '@agentlightning/core';
import { completeUsage, costOfRun, type RunEffort } from '@agentlightning/core/protocol';
import type { BudgetSettings } from '../config/sections/limits-config.ts';

/** A run whose budget is checked. */
export interface BudgetedRun {
  readonly store: Store;
  readonly run: Run;
  /** Null without one. */
  readonly budget: BudgetSettings | null;
  readonly effort: RunEffort;
}

/**
 * Ends the process of a run that has reached its budget.
 *
 * @throws AgentLightningError BUDGET_REACHED
 */
export async function assertWithinBudget({ store, run, budget, effort }: BudgetedRun): Promise<void> {
  if (budget === null) return;
  const { usage } = await store.runStatistics(run.runId);
  const { config, state } = await store.getRun(run.runId);
  const current = { config, state: { ...state, effort: { ...effort } } };
  const { amount, currency } = costOfRun(current, usage);
  const tokens = completeUsage(current, usage).reduce((sum, used) => sum + used.inputTokens + used.outputTokens, 0);
  const spent = {
    money: amount ?? 0,
    tokens: tokens + effort.trainingTokens,
    hours: effort.seconds / 3600,
  };
  const texts = {
    money: `${spent.money.toFixed(2)} ${currency}`,
    tokens: `${spent.tokens} tokens`,
    hours: `${spent.hours.toFixed(2)} hours`,
  };
  for (const name of ['money', 'tokens', 'hours'] as const) {
    const limit = budget[name];
    if (limit === null || spent[name] < limit) continue;
    throw new AgentLightningError({
      code: 'BUDGET_REACHED',
      message: `run ${run.runId} is paused: it has used ${texts[name]}, and \`limits.budget.${name}\` is ${limit}`,
      remedy: `Raise \`limits.budget.${name}\`, or pass \`--budget ${name}=<larger number>\`.`,
      details: { runId: run.runId, ...spent },
    });
  }
}
