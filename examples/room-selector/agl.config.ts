import { emitMessage } from '@agentlightning/core';
import { startScriptedEndpoint } from '@agentlightning/example-scripted-endpoint';
import { defineConfig, env, type PromptSearchConfig } from '@agentlightning/trainer';
import { selecting, selectRoom } from './agent.ts';
import { gradeAnswer, type RoomTask, roomTask } from './rooms.ts';
import { respond } from './scripted-models.ts';

/** With a key, OpenAI's models are used, otherwise simulated ones. */
const key = process.env['OPENAI_API_KEY'];
const isSimulated = key === undefined || key === '';
const models = isSimulated
  ? { ...(await startScriptedEndpoint(respond)), agent: 'selector', editor: 'editor', key: {} }
  : {
      baseUrl: 'https://api.openai.com/v1',
      agent: 'gpt-4.1-nano',
      editor: 'gpt-4.1',
      key: { apiKey: env('OPENAI_API_KEY') },
    };

/** What both searches have in common. */
export const search: PromptSearchConfig<RoomTask> = {
  run: { name: 'room-selector' },
  agent: async (task) => {
    const { reward, problems } = gradeAnswer(await selectRoom(task), task);
    // The optimiser model reads these messages.
    if (problems.length > 0) emitMessage(`${problems.join('. ')}.`);
    return reward;
  },
  prompts: [selecting],
  tasks: {
    train: 'tasks/train.jsonl',
    validation: 'tasks/validation.jsonl',
    test: 'tasks/test.jsonl',
    schema: roomTask,
  },
  algorithm: { type: 'gepa', maxRollouts: 900, maxOptimizerCalls: 80, stopAtScore: 1, reflectionTasks: 4 },
  runtime: { type: 'endpoint', baseUrl: models.baseUrl, model: models.agent, ...models.key },
  optimizer: { baseUrl: models.baseUrl, model: models.editor, ...models.key },
};

export default defineConfig(search);
