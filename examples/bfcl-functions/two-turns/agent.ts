/**
 * Calls a function, receives its result, and reports it to the user; or says that no function fits.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import type OpenAI from 'openai';
import { callsOf, gradeCalls, type Rewards, respond } from '../agent.ts';
import type { FunctionCall } from '../checker/check-calls.ts';
import type { BfclTask } from '../task.ts';

/**
 * The result of a call. The leaderboard has no implementations of its functions, so it is a number between 100 and 999 that depends
 * on the call, and that the model cannot guess.
 */
export function simulatedResult({ name, arguments: json }: FunctionCall): number {
  return 100 + (createHash('sha256').update(`${name}(${json})`).digest().readUInt32BE() % 900);
}

/**
 * The rewards of a conversation. `primary` has the partial rewards of the call, and half of them when the answer does not have the
 * result; `correct` is 1 for a right call whose result is reported.
 */
export function gradeConversation(
  task: BfclTask,
  { calls, answer }: { readonly calls: readonly FunctionCall[]; readonly answer: string },
): Rewards {
  const { primary, correct } = gradeCalls(task, calls);
  const [call] = calls;
  const isReported = call === undefined || new RegExp(`\\b${simulatedResult(call)}\\b`).test(answer);
  return isReported ? { primary, correct } : { primary: primary / 2, correct: 0 };
}

/** The agent as the trainer runs it. */
export async function twoTurnCaller(task: BfclTask): Promise<Rewards> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: task.question }];
  const first = await respond(messages, task.functions);
  const calls = callsOf(first);
  const [call] = calls;
  if (call === undefined) return gradeConversation(task, { calls, answer: first.content ?? '' });
  messages.push(first, toolMessage(first.tool_calls?.[0]?.id ?? '', simulatedResult(call)));
  const { content } = await respond(messages, task.functions);
  return gradeConversation(task, { calls, answer: content ?? '' });
}

/** The message with the result of a call. */
export function toolMessage(id: string, result: number) {
  return { role: 'tool', tool_call_id: id, content: JSON.stringify({ result }) } as const;
}
