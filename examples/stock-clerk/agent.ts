/**
 * A stock clerk: asked how many of a part there are, it looks the part up, under its new number if it has one, and answers.
 *
 * An ordinary agent on the official `openai` client. The one line that makes it trainable is
 * `fetch: traceFetch()`: within a training run it sends the calls to the attempt's own address.
 *
 * @module
 */
import { emitReward } from '@agentlightning/core';
import { traceFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';
import { z } from 'zod';

/** A question and its shelf. Every task has its own shelf. */
export const stockTask = z.object({
  question: z.string(),
  /** What is known of each part: its count, or `is B7 now` for a part with a new number. */
  shelf: z.record(z.string(), z.string()),
  /** The parts to look up, in order: that of the question, then its new numbers. */
  route: z.array(z.string()),
  answer: z.string(),
});

export type StockTask = z.infer<typeof stockTask>;

const client = new OpenAI({ apiKey: process.env['OPENAI_API_KEY'] ?? 'none', fetch: traceFetch() });

const tools: OpenAI.ChatCompletionFunctionTool[] = [
  {
    type: 'function',
    function: {
      name: 'count_stock',
      description: 'How many pieces of a part are on the shelf.',
      parameters: { type: 'object', properties: { part: { type: 'string' } }, required: ['part'] },
    },
  },
];

/**
 * Answers a question with at most four model calls; null without an answer.
 *
 * @param onLookUp - called with each part that is looked up
 */
export async function answerQuestion(
  { question, shelf }: StockTask,
  onLookUp: (part: unknown) => void = () => {},
): Promise<string | null> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: 'You are a stock clerk.' },
    { role: 'user', content: question },
  ];
  for (let turn = 0; turn < 4; turn += 1) {
    const completion = await client.chat.completions.create({ model: 'stock-clerk', messages, tools, max_tokens: 12 });
    const message = completion.choices[0]?.message;
    if (message === undefined) return null;
    if (message.tool_calls === undefined || message.tool_calls.length === 0) return message.content;
    messages.push(message);
    for (const call of message.tool_calls) {
      const part = partOf(call);
      onLookUp(part);
      const content = (typeof part === 'string' ? shelf[part] : undefined) ?? 'no such part';
      messages.push({ role: 'tool', tool_call_id: call.id, content });
    }
  }
  return null;
}

/** The argument of a tool call. */
function partOf(call: OpenAI.ChatCompletionMessageToolCall): unknown {
  if (call.type !== 'function') return undefined;
  return (JSON.parse(call.function.arguments) as { part?: unknown }).part;
}

/**
 * The agent as the trainer runs it: 1 for the right answer, 0 for any other. Each look-up has its own reward: 1 for the next part of the
 * route. `progress` is the share of look-ups and answer that were right.
 */
export async function stockClerk(task: StockTask): Promise<{ readonly primary: number; readonly progress: number }> {
  let found = 0;
  const answer = await answerQuestion(task, (part) => {
    const isNext = part === task.route[found];
    if (isNext) found += 1;
    emitReward(isNext ? 1 : 0);
  });
  const primary = answer?.trim() === task.answer ? 1 : 0;
  return { primary, progress: (found + primary) / (task.route.length + 1) };
}
