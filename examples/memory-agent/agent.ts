/**
 * An order desk with two agents and a shared memory. The reader goes through a day's messages, which do not fit into its context, and
 * files the orders among them; the reporter answers a question from the memory.
 *
 * @module
 */
import { emitReward, withAgent } from '@agentlightning/core';
import { traceFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';
import { z } from 'zod';
import { Memory } from './memory.ts';

/** The messages of a day, and a question about one of its orders. */
export const dayTask = z.object({
  messages: z.array(z.object({ text: z.string(), key: z.string(), amount: z.number(), isOrder: z.boolean() })),
  asked: z.string(),
});

export type DayTask = z.infer<typeof dayTask>;

type Message = DayTask['messages'][number];
type Conversation = OpenAI.ChatCompletionMessageParam[];

/** Number of orders that the memory holds. */
export const memoryCapacity = 6;

/** Length of the reader's conversation above which it is compacted, in characters. */
const maxConversationLength = 120;

const client = new OpenAI({ apiKey: process.env['OPENAI_API_KEY'] ?? 'none', fetch: traceFetch() });

function toolNamed(name: string, description: string): OpenAI.ChatCompletionFunctionTool {
  const parameters = { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] };
  return { type: 'function', function: { name, description, parameters } };
}

const fileTool = toolNamed('file', 'Files the current message under a key.');
const recallTool = toolNamed('recall', 'Returns what is filed under a key.');

async function respond(
  messages: Conversation,
  tool: OpenAI.ChatCompletionFunctionTool,
): Promise<OpenAI.ChatCompletionMessage | undefined> {
  const request = { model: 'order-desk', messages, tools: [tool], max_tokens: 200 };
  return (await client.chat.completions.create(request)).choices[0]?.message;
}

/** The id and the key of a response's first tool call; null without one. */
function callOf(
  message: OpenAI.ChatCompletionMessage | undefined,
): { readonly id: string; readonly key: string } | null {
  const [call] = message?.tool_calls ?? [];
  if (call?.type !== 'function') return null;
  const { key } = JSON.parse(call.function.arguments) as { key?: unknown };
  return { id: call.id, key: typeof key === 'string' ? key : '' };
}

/** The start of the reader's conversation: what is filed stands for the messages that were read before. */
function compacted(memory: Memory): Conversation {
  const filed = memory.keys.length === 0 ? '' : ` Filed: ${memory.keys.join(' ')}`;
  return [{ role: 'system', content: `You file orders.${filed}` }];
}

function lengthOf(conversation: Conversation): number {
  return conversation.reduce((length, { content }) => length + (typeof content === 'string' ? content.length : 0), 0);
}

/**
 * Reads all messages and files some. Each decision has its reward: 1 for an order that is filed under its key, 0.3 under another key, and
 * 1 for any other message that is not filed.
 */
async function readMessages(messages: readonly Message[], memory: Memory): Promise<number> {
  let conversation = compacted(memory);
  let right = 0;
  for (const { text, key, amount, isOrder } of messages) {
    if (lengthOf(conversation) > maxConversationLength) conversation = compacted(memory);
    conversation.push({ role: 'user', content: text });
    const message = await respond(conversation, fileTool);
    const call = callOf(message);
    if (message !== undefined) conversation.push(message);
    if (call !== null) {
      memory.file(call.key, amount);
      conversation.push({ role: 'tool', tool_call_id: call.id, content: 'filed' });
    }
    const isRight = isOrder ? call?.key === key : call === null;
    emitReward(isRight ? 1 : isOrder && call !== null ? 0.3 : 0);
    right += isRight ? 1 : 0;
  }
  return right / messages.length;
}

/**
 * Answers the question from the memory; null without an answer. Each turn has its reward: 1 for a search under the key of the question,
 * then 1 for the response of the memory as the answer, whether the order was filed or not.
 */
async function report(asked: string, memory: Memory): Promise<string | null> {
  const conversation: Conversation = [
    { role: 'system', content: 'You report orders.' },
    { role: 'user', content: `How many ${asked}?` },
  ];
  const search = await respond(conversation, recallTool);
  const call = callOf(search);
  emitReward(call?.key === asked ? 1 : 0);
  if (search === undefined || call === null) return search?.content?.trim() ?? null;
  const recalled = String(memory.recall(call.key) ?? 'unknown');
  conversation.push(search, { role: 'tool', tool_call_id: call.id, content: recalled });
  const answer = (await respond(conversation, recallTool))?.content?.trim() ?? null;
  emitReward(answer === recalled ? 1 : 0);
  return answer;
}

/** The reward of a day: 1 for the right amount; parts for the reader's decisions and for whether the asked order was filed. */
export async function workDay({ messages, asked }: DayTask): Promise<Record<string, number>> {
  const memory = new Memory(memoryCapacity);
  const decisions = await withAgent('reader', async () => await readMessages(messages, memory));
  const expected = messages.find(({ key, isOrder }) => isOrder && key === asked)?.amount;
  const isFiled = memory.recall(asked) === expected;
  const answer = await withAgent('reporter', async () => await report(asked, memory));
  return { primary: answer === String(expected) ? 1 : 0, filed: isFiled ? 1 : 0, decisions };
}
