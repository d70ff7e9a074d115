import { definePrompt } from '@agentlightning/core';
import { startScriptedEndpoint } from '@agentlightning/example-scripted-endpoint';
import { defineConfig } from '@agentlightning/trainer';
import { callsOf, gradeCalls, respond } from './agent.ts';
import { candidatePrompts } from './candidate-prompts.ts';
import { bfclTask } from './task.ts';

const instructions = definePrompt('instructions', 'Call the function that answers the question.');

let proposals = 0;

/** Proposes the prompts of the list in turn: no model of this size rewrites prompts. */
const editor = await startScriptedEndpoint(() => {
  proposals += 1;
  return { content: `<prompt>\n${candidatePrompts[(proposals - 1) % candidatePrompts.length]}\n</prompt>` };
});

/**
 * A control: the best system prompt for the initial weights of GRPO, found with more rollouts than GRPO has:
 * `npx -y pnpm@12 bfcl prompt-search.config.ts --weights weights`, with the weights of the warm-up that `bfcl export weights` wrote.
 */
export default defineConfig({
  run: { name: 'bfcl-functions prompt search' },
  agent: async (task) => {
    const messages = [
      { role: 'system', content: instructions.format() },
      { role: 'user', content: task.question },
    ] as const;
    return gradeCalls(task, callsOf(await respond(messages, task.functions)));
  },
  prompts: [instructions],
  tasks: {
    train: 'node_modules/.cache/tasks/search-train.jsonl',
    validation: 'node_modules/.cache/tasks/search-validation.jsonl',
    test: 'node_modules/.cache/tasks/test.jsonl',
    schema: bfclTask,
  },
  algorithm: {
    type: 'gepa',
    maxRollouts: 900,
    maxOptimizerCalls: candidatePrompts.length,
    reflectionTasks: 8,
    merges: false,
  },
  optimizer: { baseUrl: editor.baseUrl, model: 'editor' },
  runtime: { type: 'grpc', address: '127.0.0.1:50051', model: 'smollm2' },
  sampling: { temperature: 0.8 },
  agents: { concurrency: 64 },
  limits: { rolloutTimeoutMs: 300_000 },
  evaluation: { tasks: 65, rolloutsPerTask: 2 },
});
