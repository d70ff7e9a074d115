/**
 * A programmer: completes a TypeScript function by a description, runs it, and has a second attempt when it fails. The reward is the
 * share of hidden tests that pass.
 *
 * @module
 */
import { emitReward } from '@agentlightning/core';
import { traceFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';
import { z } from 'zod';
import { QuickJsSandbox, type Sandbox } from './sandbox.ts';

/** A function to write, and its hidden tests. */
export const codeTask = z.object({
  /** The parameters of the function. */
  parameters: z.array(z.string()),
  description: z.string(),
  tests: z.array(z.object({ input: z.array(z.number()), output: z.number() })),
});

export type CodeTask = z.infer<typeof codeTask>;

/** What the agent works with. */
export interface Workplace {
  readonly client: OpenAI;
  readonly sandbox: Sandbox;
}

const workplace: Workplace = {
  client: new OpenAI({ apiKey: process.env['OPENAI_API_KEY'] ?? 'none', fetch: traceFetch() }),
  sandbox: new QuickJsSandbox(),
};

const tools: OpenAI.ChatCompletionFunctionTool[] = [
  {
    type: 'function',
    function: {
      name: 'run',
      description: 'Runs the function with this expression as its body.',
      parameters: { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] },
    },
  },
];

/** The share of hidden tests that the last program passes; 0 without a program. At most two programs. */
export async function writeProgram(task: CodeTask, { client, sandbox }: Workplace = workplace): Promise<number> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: `f(${task.parameters.join(',')})` },
    { role: 'user', content: task.description },
  ];
  let passed = 0;
  for (let attempt = 0; attempt < 2 && passed < 1; attempt += 1) {
    const completion = await client.chat.completions.create({ model: 'programmer', messages, tools, max_tokens: 200 });
    const message = completion.choices[0]?.message;
    const [call] = message?.tool_calls ?? [];
    if (message === undefined || call?.type !== 'function') break;
    const outputs = await runTests(codeOf(call), task, sandbox);
    passed = typeof outputs === 'string' ? 0 : shareOf(outputs, task);
    // Each program has its own reward: a wrong one does not profit from its correction.
    emitReward(passed);
    const report = typeof outputs === 'string' ? 'error' : passed === 1 ? 'ok' : 'wrong';
    messages.push(message, { role: 'tool', tool_call_id: call.id, content: report });
  }
  return passed;
}

function codeOf(call: OpenAI.ChatCompletionMessageFunctionToolCall): string {
  const { code } = JSON.parse(call.function.arguments) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** The outputs of the function for the inputs of the tests, or the error. The expected outputs never enter the sandbox. */
async function runTests(code: string, { parameters, tests }: CodeTask, sandbox: Sandbox): Promise<unknown[] | string> {
  const signature = parameters.map((name) => `${name}: number`).join(', ');
  const inputs = JSON.stringify(tests.map(({ input }) => input));
  const program = `const f = (${signature}): number => (${code});
console.log(JSON.stringify(${inputs}.map((input: number[]) => f(...input))));`;
  const { exitCode, result } = await sandbox.codeRun(program);
  if (exitCode !== 0) return result;
  try {
    const outputs: unknown = JSON.parse(result);
    return Array.isArray(outputs) ? outputs : result;
  } catch {
    return result;
  }
}

function shareOf(outputs: readonly unknown[], { tests }: CodeTask): number {
  return tests.filter(({ output }, index) => outputs[index] === output).length / tests.length;
}
