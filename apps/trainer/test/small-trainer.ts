import { findRunMetric, metricBounds } from '@agentlightning/core/metrics';
import { traceFetch } from '@agentlightning/fetch';
import type { Agent } from '@agentlightning/runner';
import OpenAI from 'openai';
import { expect } from 'vitest';
import { type FitOptions, type TrainConfig, Trainer, type TrainingEvent } from '../src/index.ts';
import { sharedRuntime } from './shared-runtime.ts';

/** A task of the smallest runs. */
export interface SmallTask {
  readonly question: string;
  readonly index: number;
}

const client = new OpenAI({ apiKey: 'none', fetch: traceFetch(), maxRetries: 0 });

/** One model call, of up to four tokens by default. */
export async function ask(task: SmallTask, model = 'any', maxTokens = 4): Promise<string> {
  const messages = [{ role: 'user' as const, content: task.question }];
  const completion = await client.chat.completions.create({ model, messages, max_tokens: maxTokens });
  return completion.choices[0]?.message.content ?? '';
}

/** An agent with a reward that differs from rollout to rollout. */
export const countLetters: Agent<SmallTask> = async (task) => (await ask(task)).length;

const tasks = Array.from({ length: 8 }, (_, index) => ({ question: `Number ${index}?`, index }));

/** The configuration of runs that take a second: 4 tasks twice a step, with the runtime that this process shares. */
export function smallConfig(folder: string, changes: Partial<TrainConfig<SmallTask>> = {}): TrainConfig<SmallTask> {
  return {
    agent: countLetters,
    tasks: { train: tasks, test: tasks.slice(0, 4) },
    algorithm: { type: 'grpo', groupSize: 2 },
    runtime: sharedRuntime,
    steps: 1,
    tasksPerStep: 4,
    ...changes,
    run: { dataDir: folder, ...changes.run },
    // As with an embedded runtime.
    checkpoints: { every: 1, ...changes.checkpoints },
  };
}

/** A trainer of {@link smallConfig}. */
export function smallTrainer(folder: string, changes: Partial<TrainConfig<SmallTask>> = {}): Trainer<SmallTask> {
  return new Trainer<SmallTask>(smallConfig(folder, changes));
}

/** Expects every metric of a step in the catalogue, and its value within the range there. */
export function expectCatalogued(values: Readonly<Record<string, number>>): void {
  const wrong = Object.entries(values).flatMap(([name, value]) => {
    const metric = findRunMetric(name);
    if (metric === null) return [`${name} is not in the catalogue of metrics`];
    const [low, high] = metricBounds(metric);
    // Means of sums have rounding errors.
    const isWithin = value >= (low ?? -Infinity) - 1e-6 && value <= (high ?? Infinity) + 1e-6;
    return isWithin ? [] : [`${name} is ${value}, outside of ${low} to ${high}`];
  });
  expect(wrong).toEqual([]);
}

/** Trains, and keeps what happened also when it fails. */
export async function trainSmall(
  trainer: Trainer<SmallTask>,
  options: FitOptions = {},
): Promise<{ readonly events: readonly TrainingEvent[]; readonly error: unknown }> {
  const events: TrainingEvent[] = [];
  const onEvent = (event: TrainingEvent): void => {
    events.push(event);
    if (event.type === 'stepped') expectCatalogued(event.summary.metrics);
    options.onEvent?.(event);
  };
  try {
    await trainer.fit({ ...options, onEvent });
    return { events, error: null };
  } catch (error) {
    return { events, error };
  }
}
