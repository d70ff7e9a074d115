import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LossSpec, TrainingBatch, TrainingDatum } from '@agentlightning/core';
import { connectRuntime, type RuntimeModel } from '@agentlightning/runtime';
import { startCpuRuntime } from '@agentlightning/runtime-cpu';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { readTensors } from './exported-tensors.ts';
import { environment, startRuntime } from './runtime-process.ts';

const weightsFile = fileURLToPath(
  new URL('models/tiny-chat.safetensors', import.meta.resolve('@agentlightning/runtime-cpu/package.json')),
);

/** Loading torch takes a while, and longer on a machine that has much to do. */
const timeoutMs = 120_000;

/** How far losses and gradients of both runtimes may be apart, as a part of their size. */
const tolerance = 1e-4;

const losses: readonly LossSpec[] = [
  { name: 'cross_entropy', parameters: {} },
  { name: 'importance_sampling', parameters: {} },
  { name: 'importance_sampling', parameters: { entropy_coefficient: 0.1 } },
  { name: 'importance_sampling', parameters: { kl_coefficient: 0.5, kl_estimator: 1 } },
  { name: 'importance_sampling', parameters: { kl_coefficient: 0.5, kl_estimator: 2 } },
  { name: 'importance_sampling', parameters: { kl_coefficient: 0.5, kl_estimator: 3 } },
  { name: 'ppo', parameters: { clip_low: 0.2, clip_high: 0.28, dual_clip: 1.3 } },
  { name: 'cispo', parameters: { clip_low: 0.1, clip_high: 0.3 } },
  { name: 'gspo', parameters: { clip_low: 0.2, clip_high: 0.05 } },
  { name: 'dro', parameters: { beta: 0.4 } },
  { name: 'ppo', parameters: { value_coefficient: 0.5 } },
  { name: 'ppo', parameters: { value_coefficient: 0.5, value_clip: 0.2 } },
];

/** One model in each runtime, of the same weights. */
interface Pair {
  readonly embedded: RuntimeModel;
  readonly python: RuntimeModel;
}

if ('python' in environment) describeParity(environment.python);
else test.todo(`the GPU runtime computes what the embedded runtime computes (not run: ${environment.missing})`);

function describeParity(python: string): void {
  describe('on the same weights, the GPU runtime and the embedded runtime', () => {
    let directory = '';
    let makePair: (seed: number, loss: LossSpec) => Promise<Pair>;
    const closing: (() => Promise<unknown>)[] = [];

    beforeAll(async () => {
      directory = await mkdtemp(path.join(tmpdir(), 'parity-'));
      const embedded = await startCpuRuntime({ checkpointDir: path.join(directory, 'embedded') });
      const flags = ['--model', `tiny-chat=${weightsFile}`, '--checkpoints', path.join(directory, 'python')];
      const gpu = await startRuntime(python, flags);
      const connections = await Promise.all([embedded, gpu].map(({ address }) => connectRuntime({ address })));
      closing.push(
        ...connections.map((each) => () => each.close()),
        () => embedded.close(),
        () => gpu.end('SIGTERM'),
      );
      makePair = async (seed, { parameters }) => {
        const hasValueHead = 'value_coefficient' in parameters;
        const make = { baseModel: 'tiny-chat', modelId: `pair-${seed}`, seed, hasValueHead };
        const [one, other] = await Promise.all(connections.map((each) => each.createModel(make)));
        if (one === undefined || other === undefined) throw new Error('There are two connections');
        return { embedded: one, python: other };
      };
    }, timeoutMs);

    afterAll(async () => {
      for (const close of closing) await close();
      await rm(directory, { recursive: true, force: true });
    }, timeoutMs);

    it.each(losses.map((loss, at) => [loss.name, loss.parameters, at] as const))(
      'give the same loss and the same gradients of every weight: %s with %j',
      async (name, parameters, at) => {
        const pair = await makePair(at, { name, parameters });
        const batch = await aHardBatch(pair.embedded);
        const mine = await passOf(pair.embedded, directory, { batch, loss: { name, parameters } });
        const theirs = await passOf(pair.python, directory, { batch, loss: { name, parameters } });
        expect(relativeGap([theirs.loss], [mine.loss])).toBeLessThan(tolerance);
        expect(relativeGap([theirs.gradientNorm], [mine.gradientNorm])).toBeLessThan(tolerance);
        // All but the value head, which each runtime keeps in its own way.
        const shared = [...mine.gradients].filter(([tensor]) => theirs.gradients.has(tensor));
        expect(shared).toHaveLength(20);
        for (const [tensor, gradient] of shared) {
          expect(relativeGap(theirs.gradients.get(tensor) ?? [], gradient), tensor).toBeLessThan(tolerance);
        }
      },
      timeoutMs,
    );
  });
}

/** What a pass over a batch came to, the gradient of every weight with it. */
interface Pass {
  readonly loss: number;
  readonly gradientNorm: number;
  /** By the names that Transformers gives them. */
  readonly gradients: ReadonlyMap<string, readonly number[]>;
}

/** With an epsilon of 1, Adam's first step moves a weight by g / (|g| + 1): what moved tells the gradient. */
const tellingStep = { learningRate: 1, epsilon: 1, weightDecay: 0, gradientClipNorm: 0 };

async function passOf(
  model: RuntimeModel,
  directory: string,
  { batch, loss }: { readonly batch: TrainingBatch; readonly loss: LossSpec },
): Promise<Pass> {
  const before = await weightsOf(model, directory);
  const pass = await (await model.forwardBackward(batch, loss)).result;
  const step = await (await model.optimStep(tellingStep)).result;
  const after = await weightsOf(model, directory);
  const gradients = new Map<string, readonly number[]>();
  for (const [name, weights] of before) {
    const moved = Array.from(weights, (weight, at) => weight - (after.get(name)?.[at] ?? Number.NaN));
    gradients.set(
      name,
      moved.map((move) => move / (1 - Math.abs(move))),
    );
  }
  return { loss: pass.loss, gradientNorm: step.gradientNorm, gradients };
}

async function weightsOf(model: RuntimeModel, directory: string): Promise<ReadonlyMap<string, Float32Array>> {
  const artifact = await (await model.exportCheckpoint({ format: 'safetensors' })).result;
  const files = await model.downloadArtifact(artifact, await mkdtemp(path.join(directory, 'export-')));
  const file = files.find((each) => each.endsWith('.safetensors')) ?? '';
  const tensors = [...(await readTensors(file))].filter(([, numbers]) => numbers.length > 0);
  return new Map(tensors.map(([name, numbers]) => [nameInTransformers(name), numbers]));
}

const namesInTransformers: Readonly<Record<string, string>> = {
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

/** What Transformers calls a tensor of the embedded runtime. */
function nameInTransformers(name: string): string {
  if (name === 'model.embedding') return 'model.embed_tokens.weight';
  if (name === 'model.final_norm') return 'model.norm.weight';
  const [, block, part = ''] = /^model\.block_(\d+)\.(\w+)$/.exec(name) ?? [];
  return block === undefined ? name : `model.layers.${block}.${namesInTransformers[part]}.weight`;
}

/** Sequences of several lengths and temperatures, with ratios below, inside and above every clip. */
async function aHardBatch(model: RuntimeModel): Promise<TrainingBatch> {
  const data = [7, 16, 33, 64].map((length, at) =>
    aSequence(length, { seed: at + 1, temperature: [1, 0.7][at % 2] ?? 1 }),
  );
  const logprobs = await model.logprobs({ data });
  return {
    data: data.map((datum, index) => {
      const scores = logprobs[index] ?? new Float32Array();
      return {
        ...datum,
        samplingLogprobs: scores.map((score, at) => Math.min(score - 0.9 * Math.sin(at * 2 + index), 0)),
        valueTargets: scores.map((_, at) => Math.sin(at + index)),
        samplingValues: scores.map((_, at) => 0.3 * Math.cos(at * 5)),
        referenceLogprobs: scores.map((score, at) => Math.min(score + 0.7 * Math.cos(at + index), 0)),
      };
    }),
  };
}

function aSequence(length: number, { seed, temperature }: { seed: number; temperature: number }): TrainingDatum {
  const trained = [
    { start: 1, end: Math.ceil(length / 3) },
    { start: Math.ceil(length / 2), end: length },
  ];
  const count = trained.reduce((sum, { start, end }) => sum + end - start, 0);
  return {
    tokenIds: Int32Array.from({ length }, (_, at) => (seed * 31 + at * at * (seed + 5)) % 250),
    trained,
    samplingLogprobs: new Float32Array(count).fill(-1),
    advantages: Float32Array.from({ length: count }, (_, at) => Math.cos(at * 3 + seed)),
    weights: Float32Array.from({ length: count }, (_, at) => 0.2 + (at % 4) / 10),
    temperature,
    rolloutId: `ro-${seed}`,
    groupId: 'group',
    minPolicyVersion: 0,
    maxPolicyVersion: 0,
  };
}

/** The distance of two vectors, as a part of the length of the second. */
function relativeGap(one: readonly number[], other: readonly number[]): number {
  if (one.length !== other.length) return Number.POSITIVE_INFINITY;
  const gap = Math.hypot(...one.map((value, at) => value - (other[at] ?? 0)));
  return gap / Math.max(Math.hypot(...other), 1e-6);
}
