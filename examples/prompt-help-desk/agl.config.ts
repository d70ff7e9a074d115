import { defineConfig, env } from '@agentlightning/trainer';
import { z } from 'zod';
import { sorting, sortTicket } from './agent.ts';
import { startScriptedModels } from './scripted-model.ts';

/** A ticket, and the queue that it is for. */
export const ticketTask = z.object({ ticket: z.string(), queue: z.string() });

export type TicketTask = z.infer<typeof ticketTask>;

/** With a key, OpenAI's models are used, otherwise scripted ones. */
const key = process.env['OPENAI_API_KEY'];
const isScripted = key === undefined || key === '';
const models = isScripted
  ? { ...(await startScriptedModels()), agent: 'clerk', editor: 'editor', key: {} }
  : {
      baseUrl: 'https://api.openai.com/v1',
      agent: 'gpt-4.1-nano',
      editor: 'gpt-4.1',
      key: { apiKey: env('OPENAI_API_KEY') },
    };

export default defineConfig<TicketTask>({
  run: { name: 'help-desk' },
  // 1 for the right queue and nothing else, 0 otherwise.
  agent: async ({ ticket, queue }) => ((await sortTicket(ticket)) === queue ? 1 : 0),
  prompts: [sorting],
  tasks: {
    train: 'tasks/train.jsonl',
    validation: 'tasks/validation.jsonl',
    test: 'tasks/test.jsonl',
    schema: ticketTask,
  },
  algorithm: { type: 'gepa', maxRollouts: 600, maxOptimizerCalls: 100, stopAtScore: 1, reflectionTasks: 4 },
  runtime: { type: 'endpoint', baseUrl: models.baseUrl, model: models.agent, ...models.key },
  optimizer: { baseUrl: models.baseUrl, model: models.editor, ...models.key },
});
