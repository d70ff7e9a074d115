import { z } from 'zod';

/** A calculation to imitate. */
export const demonstration = z.object({ question: z.string(), expression: z.string(), result: z.string() });

export type Demonstration = z.infer<typeof demonstration>;

const tools = [
  { type: 'function', function: { name: 'calculate', parameters: { properties: { expression: { type: 'string' } } } } },
];

/** The conversation of the agent about a demonstration, in the format of `agl dataset`. */
export function conversation({ question, expression, result }: Demonstration) {
  const call = { name: 'calculate', arguments: JSON.stringify({ expression }) };
  return {
    messages: [
      { role: 'system', content: 'You calculate.' },
      { role: 'user', content: question },
      { role: 'assistant', content: null, tool_calls: [{ id: 'call_0', type: 'function', function: call }] },
      { role: 'tool', tool_call_id: 'call_0', content: JSON.stringify([{ type: 'text', text: result }]) },
      { role: 'assistant', content: result },
    ],
    tools,
  };
}
