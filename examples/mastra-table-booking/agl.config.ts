import { instrumentMastra } from '@agentlightning/mastra';
import { defineConfig } from '@agentlightning/trainer';
import { Agent } from '@mastra/core/agent';
import { z } from 'zod';
import { type Reservations, receiveGuest } from './agent.ts';

instrumentMastra(Agent);
// Model calls are sent to the model in training, which needs no key.
process.env['OPENAI_API_KEY'] ??= 'none';

/** A guest's message, the reservations before it, and the reservations that should result. */
export const guestTask = z.object({
  message: z.string(),
  before: z.record(z.string(), z.number()),
  after: z.record(z.string(), z.number()),
});

export type GuestTask = z.infer<typeof guestTask>;

/** The agent as the trainer runs it: 1 for the right reservations, 0.3 for the right guest at another hour, else 0. */
async function agent({ message, before, after }: GuestTask): Promise<number> {
  const reservations: Reservations = new Map(Object.entries(before));
  await receiveGuest(message, reservations);
  const expected = Object.entries(after);
  if (expected.length !== reservations.size || !expected.every(([guest]) => reservations.has(guest))) return 0;
  return expected.every(([guest, hour]) => reservations.get(guest) === hour) ? 1 : 0.3;
}

export default defineConfig({
  run: { name: 'table-booking' },
  agent,
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl', schema: guestTask },
  runtime: { type: 'embedded', model: 'tiny-reader' },
  algorithm: {
    type: 'grpo',
    groupSize: 8,
    learningRate: 2e-3,
    optimizer: { beta2: 0.99 },
    loss: 'importance_sampling',
    entropyCoefficient: 0.02,
    dropConstantGroups: true,
  },
  sampling: { temperature: 1, maxTokens: 16 },
  steps: 50,
  stop: { reward: 0.95 },
  tasksPerStep: 24,
  agents: { concurrency: 64 },
});
