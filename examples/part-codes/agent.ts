/**
 * Responds with the code of a part.
 *
 * @module
 */
import { emitMessage } from '@agentlightning/core';
import { traceFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';
import { type PartTask, question } from './codes.ts';

const client = new OpenAI({ apiKey: process.env['OPENAI_API_KEY'] ?? 'none', fetch: traceFetch() });

/** The agent as the trainer runs it: 1 for the whole code, 0 for anything less. The feedback of the application is the right code. */
export async function codeClerk({ part, code }: PartTask): Promise<number> {
  const completion = await client.chat.completions.create({
    model: 'tiny-chat',
    messages: [{ role: 'user', content: question(part) }],
    max_tokens: code.length,
  });
  emitMessage(code);
  return completion.choices[0]?.message.content === code ? 1 : 0;
}
