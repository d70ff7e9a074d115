/**
 * A stock clerk: asked how many of a part there are, it looks the part up and answers.
 *
 * An ordinary agent on the official `openai` client. The one line that makes it trainable is
 * `fetch: traceFetch()`: within a training run it sends the calls to the attempt's own address.
 *
 * @module
 */
import { traceFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';
import { z } from 'zod';

/** A question and its shelf. Every task has its own shelf. */
export const stockTask = z.object({
  question: z.string(),
  shelf: z.record(z.string(), z.number()),
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

/** Answers a question with at most three model calls; null without an answer. */
export async function answerQuestion(task: StockTask): Promise<string | null> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: 'You are a stock clerk.' },
    { role: 'user', content: task.question },
  ];
  for (let turn = 0; turn < 3; turn += 1) {
    const completion = await client.chat.completions.create({ model: 'stock-clerk', messages, tools, max_tokens: 12 });
    const message = completion.choices[0]?.message;
    if (message === undefined) return null;
    if (message.tool_calls === undefined || message.tool_calls.length === 0) return message.content;
    messages.push(message);
    for (const call of message.tool_calls) {
      messages.push({ role: 'tool', tool_call_id: call.id, content: countStock(call, task) });
    }
  }
  return null;
}

/** The tool: looks the part up on the task's shelf. */
function countStock(call: OpenAI.ChatCompletionMessageToolCall, task: StockTask): string {
  if (call.type !== 'function') return 'unknown tool';
  const { part } = JSON.parse(call.function.arguments) as { part?: unknown };
  const count = typeof part === 'string' ? task.shelf[part] : undefined;
  return count === undefined ? 'no such part' : String(count);
}

/** The agent as the trainer runs it: 1 for the right answer, 0 for any other. */
export async function stockClerk(task: StockTask): Promise<number> {
  const answer = await answerQuestion(task);
  return answer?.trim() === task.answer ? 1 : 0;
}
