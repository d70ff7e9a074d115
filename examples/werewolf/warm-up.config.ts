import { defineConfig } from '@agentlightning/trainer';
import { gameTask } from './agent.ts';
import { demonstrator, playTask } from './werewolf.ts';

/** Supervised fine-tuning on games of the model of rules against itself. Held-out games are played by the model in training. */
export default defineConfig({
  name: 'werewolf-warmup',
  agent: async (task, { mode }) =>
    mode === 'train' ? await playTask({ ...task, policy: 'both' }, demonstrator) : await playTask(task),
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl' },
  taskSchema: gameTask,
  algorithm: { type: 'sft', learningRate: 3e-3, optimizer: { beta2: 0.99 } },
  // The demonstrations are not samples of the model in training, so their probabilities differ from its own.
  maxLogprobGap: 100,
  sampling: { temperature: 1, maxTokens: 12 },
  steps: 30,
  tasksPerStep: 24,
  concurrency: 24,
  evaluation: { tasks: 64 },
});
