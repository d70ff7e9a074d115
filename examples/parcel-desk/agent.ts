/**
 * A parcel desk: looks up what a message is about with one of three tools, and files the message under a code. The request for the
 * lookup has only the message and the tools, so that the model chooses by their descriptions.
 *
 * An ordinary agent on the official `openai` client. Its instructions, the descriptions of its tools and its examples have names, so
 * that a search can change them, and `fetch: traceFetch()` sends the calls of a rollout to the gateway.
 *
 * @module
 */
import { defineExamples, definePrompt } from '@agentlightning/core';
import { traceFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';
import { codes, type DeskOutcome, type DeskTask, toolNames } from './desk.ts';

const client = new OpenAI({ apiKey: process.env['OPENAI_API_KEY'] ?? 'none', fetch: traceFetch() });

/** What to do with a message. */
export const filing = definePrompt(
  'filing',
  'You work at the desk of a parcel service. Look up what the message is about, then reply with one of the codes {codes} and nothing else.',
);

/** The descriptions of the tools. */
export const tools = toolNames.map((name) => definePrompt(name, 'Looks up a number.', { kind: 'tool' }));

/** Messages with their codes, of rollouts with the right code. */
export const examples = defineExamples<DeskTask>('examples', {
  count: 8,
  example: ({ task, response }) => (response === task.code ? `Message: ${task.message}\nCode: ${response}` : ''),
});

/** Options of {@link fileMessage}. */
export interface DeskOptions {
  /** Whether the request for the lookup has the instructions and examples too. @default false: only the message and the tools */
  readonly isGuided?: boolean;
}

/** The lookup and the code of the model. */
export async function fileMessage(message: string, { isGuided = false }: DeskOptions = {}): Promise<DeskOutcome> {
  const content = [filing.format({ codes: codes.join(', ') }), examples.format()].join('\n\n').trim();
  const system: OpenAI.ChatCompletionMessageParam = { role: 'system', content };
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: message }];
  let lookup: Pick<DeskOutcome, 'tool' | 'number'> = { tool: null, number: null };
  for (let turn = 0; turn < 3; turn += 1) {
    const completion = await client.chat.completions.create({
      model: 'gpt-4.1-nano',
      messages: turn > 0 || isGuided ? [system, ...messages] : messages,
      tools: tools.map(toolOf),
    });
    const reply = completion.choices[0]?.message;
    if (reply?.tool_calls === undefined || reply.tool_calls.length === 0)
      return { ...lookup, code: reply?.content?.trim() ?? '' };
    messages.push(reply);
    for (const call of reply.tool_calls) {
      if (call.type !== 'function') continue;
      const { number = '' } = JSON.parse(call.function.arguments) as { number?: string };
      if (lookup.tool === null) lookup = { tool: call.function.name, number };
      messages.push({ role: 'tool', tool_call_id: call.id, content: `${number}: found.` });
    }
  }
  return { ...lookup, code: '' };
}

function toolOf(tool: (typeof tools)[number]): OpenAI.ChatCompletionFunctionTool {
  const parameters = { type: 'object', properties: { number: { type: 'string' } }, required: ['number'] };
  return { type: 'function', function: { name: tool.name, description: tool.format(), parameters } };
}
