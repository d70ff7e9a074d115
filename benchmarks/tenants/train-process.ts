/*
 * A client of a server: trains the example stock-clerk with the key in AGL_KEY on the server at AGL_URL. Each line of its output is
 * what a step has learned.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { AgentLightningClient } from '@agentlightning/client';
import type { TrainConfig } from '@agentlightning/trainer';

const { AGL_URL: url = '', AGL_KEY: apiKey = '', STEPS: steps = '' } = process.env;
const example = path.resolve(import.meta.dirname, '../../examples/stock-clerk');
const { default: config } = (await import(path.join(example, 'agl.config.ts'))) as { readonly default: TrainConfig };
const { algorithm, tasksPerStep = 12, agents } = config;
const tasks = (name: string): unknown[] =>
  readFileSync(path.join(example, `tasks/${name}.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));

const client = new AgentLightningClient({ url, apiKey });
await client.uploadData({ train: tasks('train'), test: tasks('test').slice(0, 8) });
const run = await client.train(config.agent, {
  algorithm: JSON.parse(JSON.stringify(algorithm)),
  tasksPerStep,
  concurrency: agents?.concurrency ?? 64,
  steps: Number(steps),
});
for await (const event of run.events()) {
  if (event.type !== 'stepped') continue;
  const { step, reward, entropy } = event.summary;
  process.stdout.write(`${JSON.stringify({ step, reward, entropy })}\n`);
}
await run.result();
