/**
 * A room selector: looks up the rooms with a tool and names one for a meeting. Its prompt is optimised.
 *
 * An ordinary agent on the official `openai` client. Two lines make it optimisable: the prompt has a name, and
 * `fetch: traceFetch()` sends the calls of a rollout to the gateway.
 *
 * @module
 */
import { definePrompt } from '@agentlightning/core';
import { traceFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';
import { describeMeeting, type RoomTask } from './rooms.ts';

const client = new OpenAI({ apiKey: process.env['OPENAI_API_KEY'] ?? 'none', fetch: traceFetch() });

/** The prompt that a search optimises; outside of a search it is this text. */
export const selecting = definePrompt('selecting', 'Select a room.\n\nMeeting: {meeting}');

const tools: OpenAI.ChatCompletionFunctionTool[] = [
  {
    type: 'function',
    function: {
      name: 'list_rooms',
      description: 'The rooms with their seats, equipment, wheelchair access and bookings of the day.',
      parameters: { type: 'object', properties: {} },
    },
  },
];

/** The answer of the model after at most three calls; empty without one. */
export async function selectRoom({ meeting, rooms }: RoomTask): Promise<string> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'user', content: selecting.format({ meeting: describeMeeting(meeting) }) },
  ];
  for (let turn = 0; turn < 3; turn += 1) {
    const completion = await client.chat.completions.create({ model: 'gpt-4.1-nano', messages, tools });
    const message = completion.choices[0]?.message;
    if (message === undefined) break;
    if (message.tool_calls === undefined || message.tool_calls.length === 0) return message.content?.trim() ?? '';
    messages.push(message);
    for (const { id } of message.tool_calls) {
      messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(rooms) });
    }
  }
  return '';
}
