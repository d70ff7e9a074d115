import { z } from 'zod';

/** A search to imitate, its result, and a response. */
export const demonstration = z.object({
  question: z.string(),
  words: z.string(),
  result: z.string(),
  response: z.string(),
});

export type Demonstration = z.infer<typeof demonstration>;

const tools = [
  { type: 'function', function: { name: 'search', parameters: { properties: { words: { type: 'string' } } } } },
];

/** The conversation of the agent about a demonstration, in the format of `agl dataset`. */
export function conversation({ question, words, result, response }: Demonstration) {
  const call = { name: 'search', arguments: JSON.stringify({ words }) };
  return {
    messages: [
      { role: 'system', content: 'You know films.' },
      { role: 'user', content: question },
      { role: 'assistant', content: null, tool_calls: [{ id: 'call_0', type: 'function', function: call }] },
      { role: 'tool', tool_call_id: 'call_0', content: result },
      { role: 'assistant', content: response },
    ],
    tools,
  };
}
