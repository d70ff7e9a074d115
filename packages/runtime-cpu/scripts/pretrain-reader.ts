/**
 * Makes the base model `tiny-reader`: trains `tiny-chat` on conversations in which names and values are copied. A training runtime does
 * the work, since Python's is five times as fast as the embedded one on a model of this size:
 *
 *     agentlightning-runtime serve --model tiny-chat=packages/runtime-cpu/models/tiny-chat.safetensors --threads 2
 *     pnpm gen:reader 127.0.0.1:50051
 *
 * @module
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectRuntime, type RuntimeModel } from '@agentlightning/runtime';
import { writeCheckpoint } from '../src/checkpoint/model-checkpoint.ts';
import { decodeTensorFile } from '../src/checkpoint/safetensors.ts';
import { tinyModelConfig } from '../src/model/model-config.ts';
import { parameterLayout } from '../src/model/parameters.ts';
import { Random } from '../src/random.ts';
import { CorpusBatches } from './corpus-batches.ts';
import { learningRateAt } from './learning-rate.ts';
import { drawReadingTranscript } from './reading-corpus.ts';

/** The recipe of the committed weights. */
const recipe = { seed: 1, steps: 3000, batchSize: 64, learningRate: 3e-3, warmupSteps: 50, decayFraction: 0.5 };

const target = fileURLToPath(new URL('../models/tiny-reader.safetensors', import.meta.url));

/** Names of a Llama's tensors in files of Hugging Face, by their names in files of this package. */
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

function llamaName(name: string): string {
  const [, layer, tensor = ''] = /^block_(\d+)\.(.*)$/.exec(name) ?? [];
  if (layer !== undefined) return `model.layers.${layer}.${llamaNames[tensor]}.weight`;
  return name === 'embedding' ? 'model.embed_tokens.weight' : 'model.norm.weight';
}

async function train(model: RuntimeModel): Promise<void> {
  const batches = new CorpusBatches(Random.fromSeed(recipe.seed), recipe.batchSize, drawReadingTranscript);
  let recentLoss = 0;
  const startedAt = performance.now();
  for (let step = 0; step < recipe.steps; step++) {
    const batch = await model.forwardBackward({ data: batches.next() }, { name: 'cross_entropy', parameters: {} });
    const stepped = await model.optimStep({ learningRate: learningRateAt(step, recipe), beta2: 0.98 });
    recentLoss += (await batch.result).loss / 50;
    await stepped.result;
    if ((step + 1) % 50 !== 0) continue;
    const seconds = (performance.now() - startedAt) / 1000;
    process.stdout.write(
      `step ${step + 1}/${recipe.steps}  loss ${recentLoss.toFixed(3)} nats a token  ${seconds.toFixed(0)} s\n`,
    );
    recentLoss = 0;
  }
}

/** Writes the weights of the runtime's model in the format of this package. */
async function writeWeights(model: RuntimeModel): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tiny-reader-'));
  const exported = await (await model.exportCheckpoint({ format: 'safetensors' })).result;
  const files = await model.downloadArtifact(exported, folder);
  const weightFile = files.find((file) => file.endsWith('.safetensors')) ?? '';
  const { tensors } = decodeTensorFile(await readFile(weightFile), weightFile);
  const layout = parameterLayout(tinyModelConfig);
  const parameters = new Float32Array(layout.size);
  for (const { name, offset } of layout.tensors) {
    const tensor = tensors.get(llamaName(name));
    if (tensor?.dtype !== 'F32') throw new Error(`the export lacks ${llamaName(name)} in float32`);
    parameters.set(tensor.values, offset);
  }
  const random = Random.fromSeed(recipe.seed).state;
  const checkpoint = { config: tinyModelConfig, parameters, weightVersion: 0, random, clientState: new Uint8Array() };
  const sizeBytes = await writeCheckpoint(target, checkpoint);
  await rm(folder, { recursive: true });
  process.stdout.write(`wrote models/tiny-reader.safetensors, ${sizeBytes} bytes\n`);
}

const [address = '127.0.0.1:50051'] = process.argv.slice(2);
const runtime = await connectRuntime({ address });
const model = await runtime.createModel({
  baseModel: 'tiny-chat',
  modelId: `tiny-reader-${Date.now()}`,
  seed: recipe.seed,
});
await train(model);
await writeWeights(model);
await runtime.close();
