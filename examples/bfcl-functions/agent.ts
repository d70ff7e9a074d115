/**
 * Calls the function that a question asks for, with the right arguments, or none if no function fits.
 *
 * An ordinary agent on the official `openai` client. The line about training is `fetch: traceFetch()`.
 *
 * @module
 */
import { traceFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';
import { checkCalls, type FunctionCall } from './checker/check-calls.ts';
import type { BfclTask, FunctionDescription } from './task.ts';
import { toolsOf } from './tools.ts';

const client = new OpenAI({ apiKey: process.env['OPENAI_API_KEY'] ?? 'none', fetch: traceFetch() });

/** The rewards of a rollout. */
export type Rewards = { readonly primary: number; readonly correct: number };

/**
 * The model's next message.
 *
 * @throws Error when the response of the API has no message
 */
export async function respond(
  messages: readonly OpenAI.ChatCompletionMessageParam[],
  functions: readonly FunctionDescription[],
): Promise<OpenAI.ChatCompletionMessage> {
  const completion = await client.chat.completions.create({
    model: 'smollm2',
    messages: [...messages],
    tools: toolsOf(functions),
    max_tokens: 64,
    stop: '</tool_call>',
  });
  const message = completion.choices[0]?.message;
  if (message === undefined) throw new Error('The response has no message.');
  return message;
}

/** The functions that a message calls. */
export function callsOf({ tool_calls: calls = [] }: OpenAI.ChatCompletionMessage): readonly FunctionCall[] {
  return calls.flatMap((call) => (call.type === 'function' ? [call.function] : []));
}

/**
 * The rewards of calls. `correct` is the measure of the leaderboard; `primary` is trained on, and has partial rewards: without
 * them, the initial model would have no learning signal on most tasks.
 */
export function gradeCalls(task: BfclTask, calls: readonly FunctionCall[]): Rewards {
  const { isCorrect, progress } = checkCalls(task, calls);
  return { primary: isCorrect ? 1 : 0.5 * progress, correct: isCorrect ? 1 : 0 };
}

/** The agent as the trainer runs it. */
export async function functionCaller(task: BfclTask): Promise<Rewards> {
  const message = await respond([{ role: 'user', content: task.question }], task.functions);
  return gradeCalls(task, callsOf(message));
}
