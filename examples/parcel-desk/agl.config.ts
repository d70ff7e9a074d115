import { startScriptedEndpoint } from '@agentlightning/example-scripted-endpoint';
import { defineConfig, env, type PromptSearchConfig } from '@agentlightning/trainer';
import { examples, fileMessage, filing, tools } from './agent.ts';
import { type DeskOutcome, type DeskTask, deskReward, deskTask } from './desk.ts';
import { respond } from './scripted-models.ts';

/** With a key, OpenAI's models are used, otherwise simulated ones. */
const key = process.env['OPENAI_API_KEY'];
const isSimulated = key === undefined || key === '';
const models = isSimulated
  ? { ...(await startScriptedEndpoint(respond)), agent: 'clerk', editor: 'editor', key: {} }
  : {
      baseUrl: 'https://api.openai.com/v1',
      agent: 'gpt-4.1-nano',
      editor: 'gpt-4.1',
      key: { apiKey: env('OPENAI_API_KEY') },
    };

/** Also for the tests, which search other prompts. */
export const search: PromptSearchConfig<DeskTask, DeskOutcome> = {
  run: { name: 'parcel-desk' },
  agent: async ({ message }) => await fileMessage(message),
  reward: deskReward,
  // The instructions, the descriptions of the tools and the examples are searched together.
  prompts: [filing, ...tools, examples],
  tasks: {
    train: 'tasks/train.jsonl',
    validation: 'tasks/validation.jsonl',
    test: 'tasks/test.jsonl',
    schema: deskTask,
  },
  algorithm: { type: 'gepa', maxRollouts: 1000, maxOptimizerCalls: 100, stopAtScore: 1, reflectionTasks: 4 },
  runtime: { type: 'endpoint', baseUrl: models.baseUrl, model: models.agent, ...models.key },
  optimizer: { baseUrl: models.baseUrl, model: models.editor, ...models.key },
};

export default defineConfig(search);
