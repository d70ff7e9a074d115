/**
 * `node train.ts --python <python> [--steps 40]`: an agent in TypeScript, trained by the trainer of Python's Agent Lightning
 * 1.0 on verl. The store, the gateway and the runner are here; `trainer.py` has the model and learns. They use the protocol
 * of 1.0, as with a trainer on a cluster of GPU machines.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { traceFetch } from '@agentlightning/fetch';
import { serveGateway } from '@agentlightning/gateway';
import { runRollouts } from '@agentlightning/runner';
import { openStore } from '@agentlightning/store';
import OpenAI from 'openai';
import { z } from 'zod';
import { askForNumbers } from './agent.ts';

const { values: flags } = parseArgs({
  options: { python: { type: 'string', default: 'python3' }, steps: { type: 'string', default: '40' } },
});
const task = z.object({ question: z.string() });

const store = await openStore(':memory:');
const gateway = await serveGateway({ store, upstream: [], aglServer: true });
await store.addResources({
  policy: {
    resourceType: 'proxy_llm',
    endpoint: `${gateway.url}/v1`,
    model: 'policy',
    apiKey: null,
    samplingParameters: {},
  },
});

const client = new OpenAI({ apiKey: 'none', baseURL: 'http://model.invalid/v1', fetch: traceFetch() });
const stop = new AbortController();
const rollouts = runRollouts({
  store,
  concurrency: 16,
  signal: stop.signal,
  parseTask: (input) => task.parse(input),
  agent: async ({ question }) => {
    const answers = await askForNumbers(client, question);
    return answers.reduce((sum, answer) => sum + shareOfDigits(answer), 0) / answers.length;
  },
});

const program = path.join(import.meta.dirname, 'trainer.py');
const trainer = spawn(flags.python, [program, '--url', gateway.url, '--steps', flags.steps], { stdio: 'inherit' });
const [code] = await once(trainer, 'exit');
stop.abort();
await rollouts;
await gateway.close();
await store.close();
process.exitCode = code ?? 1;

/** The share of digits among eight characters, from 0 to 1. */
function shareOfDigits(text: string): number {
  return (text.match(/[0-9]/g)?.length ?? 0) / 8;
}
