import { expect, test } from 'vitest';
import { modelCallToSpan } from '../spans/model-call-span.ts';
import { aModelCall } from '../testing/a-trajectory.ts';
import { costOfCalls, costOfRun, pricesOf } from './cost.ts';
import { usageOfSpans } from './model-usage.ts';
import { type Prices, pricesSchema } from './prices.ts';

const prices: Prices = pricesSchema.parse({ models: { small: { input: 0.25, cachedInput: 0.025, output: 2 } } });

/** Usage of a million input tokens, of which 400,000 are cached, and 100,000 output tokens. */
const usage = {
  model: 'small',
  isPolicy: false,
  calls: 3,
  inputTokens: 1_000_000,
  cachedInputTokens: 400_000,
  outputTokens: 100_000,
};

test('cached tokens have their own price', () => {
  // 0.6 * 0.25 + 0.4 * 0.025 + 0.1 * 2
  expect(costOfCalls([usage], prices)).toEqual({ amount: expect.closeTo(0.36, 10), currency: 'USD', missing: [] });
});

test('cached tokens without a price have that of all input', () => {
  const models = { small: { input: 0.25, output: 2 } };
  expect(costOfCalls([usage], { ...prices, models }).amount).toBeCloseTo(0.45, 10);
});

test('a model without a price is named with the setting that it needs, and the others are summed', () => {
  const other = { ...usage, model: 'constructor' };
  const missing = ['no price of model constructor (run.prices.models["constructor"])'];
  expect(costOfCalls([usage, other], prices)).toMatchObject({ amount: expect.closeTo(0.36, 10), missing });
  expect(costOfCalls([other], prices)).toMatchObject({ amount: null, missing });
  expect(costOfCalls([{ ...other, inputTokens: 0, outputTokens: 0 }], null).missing).toEqual([]);
});

test('calls are priced by the model that responded, also by its name without a date', () => {
  const call = { ...aModelCall(), model: 'router/auto', policyVersion: null };
  const responding = (responseModel: string) => usageOfSpans([modelCallToSpan({ ...call, responseModel })]);
  expect(responding('small-2025-04-14')[0]?.model).toBe('small-2025-04-14');
  const { missing } = costOfCalls(responding('other'), null);
  expect(missing).toEqual(['no price of model other (run.prices.models["other"])']);
  for (const model of ['small-2025-04-14', 'small-20250414']) {
    expect(costOfCalls([{ ...usage, model }], prices).amount).toBeCloseTo(0.36, 10);
  }
  expect(costOfCalls([{ ...usage, model: 'small-2' }], prices).amount).toBeNull();
});

test('a run costs its calls, its optimiser model and the time of its steps', () => {
  const policy = { ...usage, model: 'run-1', isPolicy: true };
  const config = { prices: { currency: 'EUR', models: { small: { input: 1, output: 10 } }, runtimePerHour: 3 } };
  const run = { config, state: { optimizerUsage: { ...usage }, effort: { seconds: 1200, trainingTokens: 0 } } };
  const cost = costOfRun(run, [policy, usage]);
  // Two usages of 1 * 1 + 0.1 * 10, and 20 minutes.
  expect(cost).toEqual({ amount: expect.closeTo(5, 10), currency: 'EUR', missing: [] });
});

test('a run without a price for its runtime says so, and a model of the runtime may have a price', () => {
  const policy = { ...usage, isPolicy: true };
  const missing = ['no price of the training runtime (run.prices.runtimePerHour or run.prices.runtimeTokens)'];
  expect(costOfCalls([policy], null)).toEqual({ amount: null, currency: 'USD', missing: [] });
  expect(costOfRun({ config: {}, state: {} }, [policy])).toEqual({ amount: null, currency: 'USD', missing });
  const config = JSON.parse(JSON.stringify({ prices }));
  expect(costOfRun({ config, state: {} }, [policy])).toMatchObject({ amount: expect.closeTo(0.36, 10), missing: [] });
});

test('a runtime that charges by token has prices of prompts, responses and trained tokens', () => {
  const policy = { ...usage, model: 'run-1', isPolicy: true };
  const config = { prices: { runtimeTokens: { prefill: 0.1, sampling: 0.3, training: 0.4 } } };
  const run = { config, state: { effort: { seconds: 60, trainingTokens: 2_000_000 } } };
  // 1 million tokens of prompts, 0.1 million of responses, 2 million trained ones.
  expect(costOfRun(run, [policy])).toEqual({
    amount: expect.closeTo(0.1 + 0.03 + 0.8, 10),
    currency: 'USD',
    missing: [],
  });
});

test('invalid prices in a record of another program are ignored', () => {
  expect(pricesOf({ config: { prices: { models: { small: { input: 'free' } } } } })).toBeNull();
});

test('captured calls are counted by model, with the cached tokens that the engine reported', () => {
  const call = { ...aModelCall(), policyVersion: null, model: 'small' };
  const counts = { inputTokens: 7, cachedInputTokens: 4, outputTokens: 3 };
  const spans = [call, call].map((each) => modelCallToSpan(each, { usage: counts }));
  const step = { name: 'chat small', attributes: spans[0]?.attributes ?? {} };
  expect(usageOfSpans([...spans, step])).toEqual([
    { model: 'small', isPolicy: false, calls: 2, inputTokens: 14, cachedInputTokens: 8, outputTokens: 6 },
  ]);
});

test('calls of judges are counted by model, and invalid records are ignored', () => {
  const judged = (text: string) => ({
    name: 'agentlightning.annotation',
    attributes: { 'agentlightning.judge.usage': text },
  });
  const judge = { judge: { calls: 2, inputTokens: 90, outputTokens: 7 } };
  const spans = [judged(JSON.stringify(judge)), judged(JSON.stringify(judge)), judged('[1]'), judged('{"judge":null}')];
  expect(usageOfSpans(spans)).toEqual([
    { model: 'judge', isPolicy: false, calls: 4, inputTokens: 180, cachedInputTokens: 0, outputTokens: 14 },
  ]);
});
