import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BatchResult, LossSpec, StepResult, TrainingBatch } from '@agentlightning/core/training-runtime';
import { connectRuntime, type RuntimeConnection, type RuntimeModel } from '@agentlightning/runtime';
import { startCpuRuntime } from '@agentlightning/runtime-cpu';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithPython } from '../../../tools/describe-with-python.ts';
import { plainBatch, weighedBatch } from './parity-batch.ts';
import { readTensors } from './read-tensors.ts';
import { environment, startRuntime } from './runtime-process.ts';

const startTimeoutMs = 120_000;
/** Relative tolerance of float32 sums in a different order. */
const tolerance = 1e-4;

const weightFile = path.join(import.meta.dirname, '../../../packages/runtime-cpu/models/tiny-chat.safetensors');

const value = { value_coefficient: 0.5, value_clip: 0.1 };
const losses: readonly LossSpec[] = [
  { name: 'cross_entropy', parameters: {} },
  { name: 'importance_sampling', parameters: {} },
  { name: 'importance_sampling', parameters: { entropy_coefficient: 0.1, ...value } },
  { name: 'importance_sampling', parameters: { kl_coefficient: 0.5, kl_estimator: 1 } },
  { name: 'importance_sampling', parameters: { kl_coefficient: 0.5, kl_estimator: 2 } },
  { name: 'importance_sampling', parameters: { kl_coefficient: 0.5, kl_estimator: 3 } },
  { name: 'ppo', parameters: { clip_low: 0.2, clip_high: 0.28, dual_clip: 0 } },
  { name: 'ppo', parameters: { clip_low: 0.2, clip_high: 0.28, dual_clip: 1.3, ...value } },
  { name: 'cispo', parameters: { clip_low: 0.1, clip_high: 0.3 } },
  { name: 'gspo', parameters: { clip_low: 0.3, clip_high: 0.05 } },
  { name: 'dro', parameters: { beta: 0.4 } },
];

/** With so large an epsilon a first step of Adam is the gradient: lr · g / (|g| + epsilon). */
const linearAdam = { learningRate: 1e6, epsilon: 1e4, gradientClipNorm: 0 };
/** A step of the same kind, small enough to keep the log-probabilities of the text. */
const smallLinearAdam = { ...linearAdam, learningRate: 10 };

/** Name of a tensor of the embedded runtime in a Llama. */
const llamaNames: Readonly<Record<string, string>> = {
  attention_norm: 'input_layernorm',
  query: 'self_attn.q_proj',
  key: 'self_attn.k_proj',
  value: 'self_attn.v_proj',
  attention_output: 'self_attn.o_proj',
  feed_forward_norm: 'post_attention_layernorm',
  gate: 'mlp.gate_proj',
  up: 'mlp.up_proj',
  down: 'mlp.down_proj',
};

/** All results of a runtime for a batch. */
interface Findings {
  readonly batch: BatchResult;
  readonly step: StepResult;
  readonly weights: ReadonlyMap<string, Float32Array>;
}

describeWithPython(environment, 'the embedded runtime and the GPU runtime, given the same weights', (python) => {
  let directory = '';
  const connections: RuntimeConnection[] = [];
  const ends: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'parity-'));
    const flags = ['--model', `tiny-chat=${weightFile}`, '--checkpoints', path.join(directory, 'gpu')];
    const gpu = await startRuntime(python, flags);
    const embedded = await startCpuRuntime({ checkpointDir: path.join(directory, 'cpu') });
    ends.push(
      () => gpu.end('SIGTERM'),
      () => embedded.close(),
    );
    connections.push(await connectRuntime(embedded), await connectRuntime({ address: gpu.address }));
  }, startTimeoutMs);

  afterAll(async () => {
    for (const connection of connections) await connection.close();
    for (const end of ends) await end();
    await rm(directory, { recursive: true, force: true });
  });

  const models = (modelId: string): Promise<RuntimeModel[]> =>
    Promise.all(
      connections.map((runtime) =>
        runtime.createModel({ baseModel: 'tiny-chat', modelId, seed: 1, hasValueHead: true }),
      ),
    );

  it('give every token the same log-probability', async () => {
    const [embedded, gpu] = await Promise.all((await models('scores')).map((model) => model.logprobs(plainBatch())));
    const gaps = numbers(embedded).map((logprob, at) => Math.abs(logprob - (numbers(gpu)[at] ?? Number.NaN)));
    expect(gaps.length).toBeGreaterThan(40);
    expect(Math.max(...gaps)).toBeLessThan(1e-5);
  });

  it.each(losses.map((loss, index) => [loss.name, loss.parameters, index] as const))(
    'have the same loss, metrics and gradients of %s with %j',
    async (name, parameters, index) => {
      const both = await models(`loss-${index}`);
      const batch = weighedBatch(plainBatch(), await (both[0] as RuntimeModel).logprobs(plainBatch()));
      const found: Findings[] = [];
      for (const model of both) found.push(await findingsOf(model, { name, parameters }, { batch, directory }));
      const [embedded, gpu] = found as [Findings, Findings];
      expectClose(gpu.batch.loss, embedded.batch.loss);
      expect(gpu.batch.trainedTokens).toBe(embedded.batch.trainedTokens);
      for (const [metric, value] of Object.entries(embedded.batch.metrics)) {
        expectClose(gpu.batch.metrics[metric] ?? Number.NaN, value, metric);
      }
      expectClose(gpu.step.gradientNorm ?? Number.NaN, embedded.step.gradientNorm ?? Number.NaN);
      const began = await readTensors(weightFile);
      for (const [tensor, before] of began) {
        const change = (after: Float32Array | undefined): number[] =>
          Array.from(before, (weight, at) => (after?.[at] ?? Number.NaN) - weight);
        const theirs = change(embedded.weights.get(tensor));
        expect(distance(change(gpu.weights.get(llamaName(tensor))), theirs), tensor).toBeLessThan(tolerance);
      }
    },
  );

  it('teach their value heads the same', async () => {
    const loss = { name: 'importance_sampling', parameters: value };
    const said: number[][] = [];
    for (const model of await models('values')) {
      const batch = weighedBatch(plainBatch(), await model.logprobs(plainBatch()));
      await model.forwardBackward(batch, loss);
      await model.optimStep(smallLinearAdam);
      said.push(numbers(await model.values(batch)));
    }
    const [embedded = [], gpu = []] = said;
    expect(Math.max(...embedded)).toBeGreaterThan(0);
    expect(distance(gpu, embedded)).toBeLessThan(tolerance);
  });
});

async function findingsOf(
  model: RuntimeModel,
  loss: LossSpec,
  { batch, directory }: { readonly batch: TrainingBatch; readonly directory: string },
): Promise<Findings> {
  const pass = await model.forwardBackward(batch, loss);
  const step = await model.optimStep(linearAdam);
  const exporting = await model.exportCheckpoint({ format: 'safetensors' });
  const folder = await mkdtemp(path.join(directory, 'export-'));
  const files = await model.downloadArtifact(await exporting.result, folder);
  const file = files.find((each) => each.endsWith('.safetensors')) ?? '';
  return {
    batch: await pass.result,
    step: await step.result,
    weights: await readTensors(file),
  };
}

function llamaName(name: string): string {
  const plain = name.replace(/^model\./, '');
  if (plain === 'embedding') return 'model.embed_tokens.weight';
  if (plain === 'final_norm') return 'model.norm.weight';
  const [, layer = '', tensor = ''] = /^block_(\d+)\.(.*)$/.exec(plain) ?? [];
  return `model.layers.${layer}.${llamaNames[tensor]}.weight`;
}

function numbers(arrays: readonly Float32Array[] | undefined): number[] {
  return (arrays ?? []).flatMap((array) => [...array]);
}

function expectClose(found: number, expected: number, what = ''): void {
  expect(Math.abs(found - expected), what).toBeLessThanOrEqual(tolerance * Math.max(1, Math.abs(expected)));
}

/** The norm of the difference, relative to the norm of the expected value. */
function distance(found: readonly number[], expected: readonly number[]): number {
  const norm = (values: readonly number[]): number => Math.sqrt(values.reduce((sum, each) => sum + each * each, 0));
  const gap = norm(expected.map((each, at) => each - (found[at] ?? Number.NaN)));
  return gap / Math.max(norm(expected), 1e-12);
}
