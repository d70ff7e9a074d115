import { defineConfig, replayDemonstration } from '@agentlightning/trainer';
import { z } from 'zod';
import { gameTask } from './agent.ts';
import config from './agl.config.ts';
import { actions } from './game.ts';
import { toolOf } from './view.ts';
import { playTask } from './werewolf.ts';

/** A turn to imitate: its prompt, and a player that is named at random; null for silence. */
export const demonstration = z.object({
  system: z.string(),
  user: z.string(),
  action: z.enum(actions),
  target: z.string().nullable(),
});

export type Demonstration = z.infer<typeof demonstration>;

/** The model call of a turn as a conversation in the format of `agl dataset`. */
export function conversation({ system, user, action, target }: Demonstration) {
  const call = { name: action, arguments: JSON.stringify({ player: target }) };
  return {
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: user },
      target === null
        ? { role: 'assistant', content: 'unknown' }
        : { role: 'assistant', content: null, tool_calls: [{ id: 'call_0', type: 'function', function: call }] },
    ],
    tools: [toolOf(action)],
  };
}

/** Supervised fine-tuning on random legal turns. It is evaluated on the same held-out games as the training. */
export default defineConfig({
  ...config,
  run: { ...config.run, name: 'werewolf warm-up' },
  agent: async (task) => ('system' in task ? await replayDemonstration(conversation(task)) : await playTask(task)),
  tasks: { train: 'tasks/demonstrations.jsonl', test: 'tasks/test.jsonl', schema: z.union([demonstration, gameTask]) },
  algorithm: {
    type: 'sft',
    learningRate: { schedule: 'linear', peak: 2e-3, warmupSteps: 10 },
    optimizer: { beta2: 0.98 },
    minibatches: 2,
  },
  steps: 150,
  tasksPerStep: 48,
  checkpoints: { keep: 3 },
  evaluation: {},
});
