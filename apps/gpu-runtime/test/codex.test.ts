/**
 * The real program of Codex in its default configuration, with a model of the embedded runtime that is trained.
 *
 * @module-tag long
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { currentRollout, type ModelCall } from '@agentlightning/core';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import { ModelEngine, tinyModelConfig } from '@agentlightning/runtime-cpu/internal';
import { openStore } from '@agentlightning/store';
import { type TrainConfig, Trainer } from '@agentlightning/trainer';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { describeWithPython } from '../../../tools/describe-with-python.ts';
import { installExtra } from '../../../tools/extras/extras.ts';
import { environment, startRuntime } from './runtime-process.ts';

/** What this test uses of `@openai/codex-sdk`, which is installed for it alone. */
interface CodexSdk {
  readonly Codex: new (options: {
    readonly baseUrl: string;
    readonly apiKey: string;
    readonly env: Readonly<Record<string, string>>;
  }) => {
    startThread(options: { readonly workingDirectory: string; readonly skipGitRepoCheck: boolean }): {
      run(prompt: string): Promise<{ readonly finalResponse: string }>;
    };
  };
}

/** A model whose context takes a request of Codex, about 67,000 bytes; small, as attention is quadratic. */
const modelShape = { ...tinyModelConfig, width: 16, heads: 1, layers: 1, hidden: 32, maxContext: 131_072 };

const patienceMs = 900_000;

beforeAll(() => installExtra('codex'), patienceMs);

describeWithPython(environment, 'the GPU runtime with Codex', (python) => {
  test('rollouts of the real program are recorded with tokens, and a training step changes the policy', {
    timeout: patienceMs,
  }, async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'gpu-runtime-codex-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    const checkpoint = path.join(folder, 'model.safetensors');
    await ModelEngine.random(modelShape, 7).saveCheckpoint(checkpoint, new Uint8Array());
    const runtime = await startRuntime(python, [
      ...['--model', `small=${checkpoint}`, '--checkpoints', path.join(folder, 'checkpoints')],
    ]);
    onTestFinished(async () => void (await runtime.end('SIGTERM')));
    const config: TrainConfig<{ readonly prompt: string }> = {
      agent: ({ prompt }) => askCodex(prompt, folder),
      tasks: { train: [{ prompt: 'Say hello.' }], test: [{ prompt: 'Say hello.' }] },
      runtime: { type: 'grpc', address: runtime.address },
      algorithm: { type: 'grpo', groupSize: 3, learningRate: 1e-3, loss: 'importance_sampling' },
      sampling: { temperature: 1 },
      evaluation: { tasks: 1, rolloutsPerTask: 1 },
      steps: 1,
      tasksPerStep: 1,
      agents: { concurrency: 1 },
      run: { dataDir: folder },
    };
    const metrics: Readonly<Record<string, number>>[] = [];
    await new Trainer(config).fit({
      onEvent: (event) => {
        if (event.type === 'stepped') metrics.push(event.summary.metrics);
      },
    });
    expect(metrics[0]?.['policy/update_change']).toBeGreaterThan(0);
    const calls = await callsIn(path.join(folder, 'agl.db'));
    expect(calls.length).toBeGreaterThan(3);
    for (const { isTrainable, promptTokenIds, choices } of calls) {
      expect(isTrainable).toBe(true);
      expect(promptTokenIds.length).toBeGreaterThan(32_768);
      expect(choices[0]?.responseLogprobs).toHaveLength(choices[0]?.responseTokenIds.length ?? 0);
    }
  });
});

/** All recorded model calls of a store. */
async function callsIn(file: string): Promise<readonly ModelCall[]> {
  const store = await openStore(file);
  try {
    const { items: rollouts } = await store.queryRollouts({});
    const spans = await Promise.all(rollouts.map(({ rolloutId }) => store.querySpans({ rolloutId })));
    return spans.flatMap(({ items }) => items.map(modelCallFromSpan).filter((call) => call !== null));
  } finally {
    await store.close();
  }
}

/** One turn of Codex with the model of the rollout; the reward grows with the length of the response. */
async function askCodex(prompt: string, folder: string): Promise<number> {
  const endpoint = currentRollout()?.endpoint;
  if (!endpoint) throw new Error('The agent runs in a rollout with an endpoint');
  // A variable: the package is not there when the types are checked.
  const name = '@openai/codex-sdk';
  const { Codex } = (await import(name)) as CodexSdk;
  const home = await mkdtemp(path.join(folder, 'home-'));
  const codex = new Codex({
    baseUrl: endpoint.baseUrl,
    apiKey: endpoint.apiKey ?? 'none',
    env: { PATH: process.env['PATH'] ?? '', HOME: home, CODEX_HOME: home },
  });
  const thread = codex.startThread({ workingDirectory: home, skipGitRepoCheck: true });
  const { finalResponse } = await thread.run(prompt);
  return finalResponse.length / 1000;
}
