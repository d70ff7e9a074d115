/**
 * A model of rules that writes and solves questions about sums, instead of a model API: it proposes some questions that can be guessed or have
 * several answers, which the command drops.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import {
  type ScriptedEndpoint,
  type ScriptedReply,
  type ScriptedRequest,
  startScriptedEndpoint,
} from '@agentlightning/example-scripted-endpoint';

const wordings = ['Add A and B.', 'A and B?', 'Sum of A and B?', 'A with B is?'];

/** Starts the examiner, which proposes other questions for another seed. */
export function startExaminer(seed: string): Promise<ScriptedEndpoint> {
  let drawn = 0;
  const draw = (limit: number): number => {
    drawn += 1;
    return createHash('sha256').update(`${seed}/${drawn}`).digest().readUInt32BE() % limit;
  };

  function propose(): string {
    if (draw(12) === 0) return 'Name a sum.';
    // Sums below ten are known without the tool.
    const operand = draw(10) === 0 ? () => 1 + draw(4) : () => 10 + draw(90);
    const [a, b] = [operand(), operand()];
    return (wordings[draw(wordings.length)] ?? '').replace(/\b[AB]\b/g, (letter) => String(letter === 'A' ? a : b));
  }

  function respond({ messages, tools }: ScriptedRequest): ScriptedReply {
    const [instructions, { content: question = '' } = {}] = messages;
    if (instructions?.content.includes('You write questions')) {
      return { content: JSON.stringify(Array.from({ length: 10 }, propose)) };
    }
    const sum = /is (\d+)\.$/.exec(messages.at(-1)?.content ?? '')?.[1];
    if (sum !== undefined) return { content: sum };
    const [a = draw(50), b = draw(50)] = (question.match(/\d+/g) ?? []).map(Number);
    if (tools.length > 0) return { call: { name: 'get-sum', arguments: { a, b } } };
    return { content: a + b < 10 ? String(a + b) : 'I need the tool.' };
  }

  return startScriptedEndpoint(respond);
}
