import { maxExamples } from '../algorithm/prompt-search.ts';
import { ValidationError } from '../base/agent-lightning-error.ts';
import { namedPrompt, type Prompt } from './prompt.ts';

/** A training rollout with a good reward, of which an example is made. */
export interface ExampleRollout<TTask = unknown> {
  /** The task. */
  readonly task: TTask;
  /** Its reward. */
  readonly reward: number;
  /** Text of the last response of a model that has text; empty without one. */
  readonly response: string;
  /** All tool calls of the models, in order. */
  readonly toolCalls: readonly ExampleToolCall[];
}

/** A tool call in a rollout. */
export interface ExampleToolCall {
  /** Name of the tool. */
  readonly name: string;
  /** The arguments as the model wrote them, usually JSON. */
  readonly arguments: string;
}

/** Options of {@link defineExamples}. */
export interface ExamplesOptions<TTask = unknown> {
  /** Text of one example; a rollout with an empty text is not used. Deterministic, at most 8000 characters. */
  readonly example: (rollout: ExampleRollout<TTask>) => string;
  /** Maximum number of examples, from 1 to 32. @default 4 */
  readonly count?: number;
}

/** A prompt that consists of examples, which a search draws from good training rollouts. */
export interface ExamplesPrompt<TTask = unknown> extends Prompt<never>, Required<ExamplesOptions<TTask>> {
  /** Distinguishes examples from texts that are rewritten. */
  readonly kind: 'examples';
}

/**
 * Defines the few-shot examples of an agent. They are empty until `agl train` has found better ones: a prompt search draws them
 * from training rollouts with good rewards, without requests to the optimiser model. The agent adds `format()` to its messages.
 *
 * @param name - letters, digits, `_` and `-`
 * @throws ValidationError when the name or the count is invalid
 *
 * @example
 * ```ts
 * const examples = defineExamples<{ ticket: string }>('examples', {
 *   example: ({ task, response }) => `Ticket: ${task.ticket}\nQueue: ${response}`,
 * });
 * const system = `Sort tickets into queues.\n\n${examples.format()}`.trim();
 * ```
 */
export function defineExamples<TTask = unknown>(
  name: string,
  { example, count = 4 }: ExamplesOptions<TTask>,
): ExamplesPrompt<TTask> {
  if (!Number.isInteger(count) || count < 1 || count > maxExamples) {
    const message = `must be a whole number from 1 to ${maxExamples}, not ${count}`;
    throw new ValidationError(`the examples "${name}"`, [{ path: 'count', message }]);
  }
  const prompt = namedPrompt(name, { template: '', kind: 'examples' });
  return { ...prompt, kind: 'examples', variables: [], format: () => prompt.format({}), example, count };
}
