/**
 * Trains a model on a tool of an MCP server: the official example server `everything`, of which it may call `get-sum`.
 *
 * @module
 */
import { fileURLToPath } from 'node:url';
import { mcpEnvironment, playEnvironment } from '@agentlightning/environments';
import { exact, rewards } from '@agentlightning/rewards';
import { defineConfig } from '@agentlightning/trainer';
import { z } from 'zod';

/** The fields of a generated task that the training uses. */
export const sumTask = z.object({ question: z.string(), answer: z.string() });

export type SumTask = z.infer<typeof sumTask>;

/** The server, whose tools change nothing: rollouts of a worker process share it. */
export const server = mcpEnvironment<SumTask>({
  command: process.execPath,
  args: [fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))],
  tools: ['get-sum'],
  stateless: true,
});

export default defineConfig({
  run: { name: 'mcp-sums' },
  agent: playEnvironment(server, { system: 'You add.', maxTurns: 3 }),
  reward: rewards<SumTask>({ correct: exact((task) => task.answer) }),
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl', schema: sumTask },
  runtime: { type: 'embedded', model: 'tiny-reader' },
  algorithm: {
    type: 'grpo',
    groupSize: 8,
    learningRate: 1e-3,
    optimizer: { beta2: 0.99 },
    loss: 'importance_sampling',
    entropyCoefficient: 0.01,
    dropConstantGroups: true,
  },
  sampling: { temperature: 1, maxTokens: 12 },
  steps: 40,
  stop: { reward: 0.95 },
  tasksPerStep: 16,
  agents: { concurrency: 64 },
});
