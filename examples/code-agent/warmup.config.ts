import { startScriptedEndpoint } from '@agentlightning/example-scripted-endpoint';
import { traceFetch } from '@agentlightning/fetch';
import { defineConfig } from '@agentlightning/trainer';
import OpenAI from 'openai';
import { codeTask, writeProgram } from './agent.ts';
import { randomProgram } from './random-program.ts';
import { QuickJsSandbox } from './sandbox.ts';

const { baseUrl } = await startScriptedEndpoint(randomProgram);
// Calls are recorded, not redirected to the model in training: their responses are imitated.
const client = new OpenAI({ apiKey: 'none', baseURL: baseUrl, fetch: traceFetch({ redirect: false }) });

/** Supervised fine-tuning on random programs, right or wrong: the model learns the form of a program, not the tasks. */
export default defineConfig({
  name: 'code-agent-warmup',
  agent: async (task, { mode }) =>
    mode === 'train' ? await writeProgram(task, { client, sandbox: new QuickJsSandbox() }) : await writeProgram(task),
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl' },
  taskSchema: codeTask,
  algorithm: { type: 'sft', learningRate: 3e-3, epochs: 2, optimizer: { beta2: 0.99 } },
  // The demonstrations are not samples of the model in training, so their probabilities differ from its own.
  maxLogprobGap: 100,
  sampling: { temperature: 1, maxTokens: 12 },
  steps: 60,
  tasksPerStep: 64,
  concurrency: 32,
});
