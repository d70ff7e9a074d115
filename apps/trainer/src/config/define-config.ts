import type { PromptSearchConfig } from './sections/prompt-search-config.ts';
import type { StoredTrainConfig, TrainConfig } from './train-config.ts';

/**
 * Types a configuration and returns it unchanged.
 *
 * @example
 * ```ts
 * export default defineConfig({
 *   agent: stockClerk,
 *   tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl' },
 *   steps: 20,
 * });
 * ```
 *
 * @example
 * ```ts
 * export default defineConfig({
 *   agent: stockClerk,
 *   algorithm: { type: 'gepa', maxRollouts: 300 },
 *   prompts: [clerkPrompt],
 *   tasks: { train: 'tasks/train.jsonl', validation: 'tasks/validation.jsonl' },
 *   runtime: { type: 'endpoint', baseUrl: 'https://api.openai.com/v1', model: 'gpt-4.1-mini', apiKey: env('OPENAI_API_KEY') },
 *   optimizer: { baseUrl: 'https://api.openai.com/v1', model: 'gpt-5-mini', apiKey: env('OPENAI_API_KEY') },
 * });
 * ```
 */
export function defineConfig<TTask, TOutput = unknown>(
  config: PromptSearchConfig<TTask, TOutput>,
): PromptSearchConfig<TTask>;
/** Returns the configuration of a training on stored data with its types checked in an editor. */
export function defineConfig<TTask, TOutput = unknown>(
  config: StoredTrainConfig<TTask, TOutput>,
): StoredTrainConfig<TTask>;
/** Returns the configuration of a training with its types checked in an editor. */
export function defineConfig<TTask, TOutput = unknown>(config: TrainConfig<TTask, TOutput>): TrainConfig<TTask>;
export function defineConfig<TTask, TOutput = unknown>(
  config: TrainConfig<TTask, TOutput> | PromptSearchConfig<TTask, TOutput> | StoredTrainConfig<TTask, TOutput>,
): TrainConfig<TTask> | PromptSearchConfig<TTask> | StoredTrainConfig<TTask> {
  return config;
}
