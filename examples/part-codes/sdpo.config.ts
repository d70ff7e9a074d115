import { defineConfig, replayDemonstration } from '@agentlightning/trainer';
import { codeClerk } from './agent.ts';
import { demonstration, demonstrations, feedbackTemplate, parts, partTask } from './codes.ts';

/** Options of both algorithms. Without the entropy bonus, a wrong letter of one of the codes becomes certain. */
export const options = {
  groupSize: 32,
  learningRate: 1e-3,
  optimizer: { beta2: 0.99 },
  entropyCoefficient: 0.3,
} as const;

/** Demonstrations of how to read feedback, then self-distillation from the feedback on the codes of two parts. */
export default defineConfig({
  run: { name: 'part-codes' },
  agent: codeClerk,
  tasks: { train: [...parts], test: [...parts], schema: partTask },
  runtime: { type: 'embedded', model: 'tiny-chat' },
  stages: [
    {
      agent: ({ prompt, code }) =>
        replayDemonstration({
          messages: [
            { role: 'user', content: prompt },
            { role: 'assistant', content: code },
          ],
        }),
      tasks: { train: [...demonstrations(6400)], schema: demonstration },
      algorithm: { type: 'sft', learningRate: 3e-3, optimizer: { beta2: 0.99 } },
      steps: 100,
      tasksPerStep: 64,
    },
    {
      algorithm: { type: 'sdpo', ...options, feedback: ['messages'], template: feedbackTemplate },
      steps: 150,
      stop: { reward: 0.95 },
    },
  ],
  tasksPerStep: 2,
  sampling: { temperature: 1 },
  evaluation: { rolloutsPerTask: 32 },
  agents: { concurrency: 64 },
});
