/**
 * A help desk: sorts tickets of a web shop into queues.
 *
 * An ordinary agent on the official `openai` client. Two lines make it optimisable: the prompt has a name, and
 * `fetch: traceFetch()` sends the calls of a rollout to the gateway.
 *
 * @module
 */
import { defineExamples, definePrompt } from '@agentlightning/core';
import { traceFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';

/** The queues of tickets. */
export const queues = ['billing', 'shipping', 'account', 'returns'] as const;

const client = new OpenAI({ apiKey: process.env['OPENAI_API_KEY'] ?? 'none', fetch: traceFetch() });

/** The prompt that a search optimises; outside of a search it is this text. */
export const sorting = definePrompt('sorting', 'Which queue is this ticket for: {queues}?\n\nTicket: {ticket}');

/** Sorted tickets, of which a search can draw; empty outside of a search. */
export const examples = defineExamples<{ ticket: string }>('examples', {
  example: ({ task, reward, response }) => (reward === 1 ? `Ticket: ${task.ticket}\nQueue: ${response}` : ''),
});

/** The queue that the model names. */
export async function sortTicket(ticket: string): Promise<string> {
  const content = [examples.format(), sorting.format({ queues: queues.join(', '), ticket })].join('\n\n').trim();
  const messages = [{ role: 'user' as const, content }];
  const completion = await client.chat.completions.create({ model: 'gpt-4.1-mini', messages });
  return completion.choices[0]?.message.content?.trim() ?? '';
}
