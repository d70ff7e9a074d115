import { defineConfig, replayDemonstration } from '@agentlightning/trainer';
import { z } from 'zod';
import config, { problemTask } from './agl.config.ts';

/** A calculation to imitate. */
const demonstration = z.object({ question: z.string(), expression: z.string(), result: z.string() });

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

const { stop: _, ...shared } = config;

/** Supervised fine-tuning on demonstrations; it is evaluated on the same held-out problems as the training. */
export default defineConfig({
  ...shared,
  run: { ...shared.run, name: 'calc-x warm-up' },
  agent: (task, context) =>
    'expression' in task ? replayDemonstration(conversation(task)) : config.agent(task, context),
  tasks: {
    train: 'tasks/demonstrations.jsonl',
    test: 'tasks/test.jsonl',
    schema: z.union([demonstration, problemTask]),
  },
  algorithm: {
    type: 'sft',
    learningRate: { schedule: 'linear', peak: 3e-3, warmupSteps: 10 },
    optimizer: { beta2: 0.98 },
    minibatches: 4,
  },
  steps: 100,
  tasksPerStep: 48,
});
