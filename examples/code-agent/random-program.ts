import { createHash } from 'node:crypto';
import type { ScriptedReply, ScriptedRequest } from '@agentlightning/example-scripted-endpoint';

const operators = ['+', '-', '*', '/'];

/**
 * A program that is well-formed and otherwise arbitrary: a random operator between the two operands of the description, which are
 * swapped in one of four programs. It depends on the request only.
 */
export function randomProgram({ messages, tools }: ScriptedRequest): ScriptedReply {
  const text = messages.map(({ content }) => content).join('\n');
  const description = messages.find(({ role }) => role === 'user')?.content ?? '';
  const [first = '', second = ''] = description.match(/\b[A-Z0-9]\b/g) ?? [];
  const [one = 0, other = 0] = createHash('sha256').update(text).digest();
  const operator = operators[one % operators.length] ?? '+';
  const code = other % 4 === 0 ? second + operator + first : first + operator + second;
  return { call: { name: tools[0] ?? 'run', arguments: { code } } };
}
