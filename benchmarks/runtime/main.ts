/**
 * `pnpm bench runtime [--rounds 5] [--trl <python>]`: how many tokens a second the embedded runtime and the GPU runtime
 * train and sample, each over its wire, beside PyTorch and Transformers as they are; all with the same model, on one
 * thread each. With a Python that has TRL, what its GRPO trainer does a second.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { connectRuntime, type RuntimeModel } from '@agentlightning/runtime';
import { environment } from '../../apps/gpu-runtime/test/runtime-process.ts';
import { type BenchmarkResult, median, report, result } from '../report.ts';
import { runPeer } from './python-peer.ts';
import { sampledPerSecond } from './sampling.ts';
import { type RuntimeSide, startEmbedded, startGpu, weightFile } from './sides.ts';
import { secondsOfStep, type Work } from './training.ts';

const { values: flags } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, trl: { type: 'string' } },
});
const rounds = Number(flags.rounds);
const work: Work = { rows: 256, rowTokens: 76, promptTokens: 24, answers: 64, answerTokens: 32 };

/** What TRL's trainer does in a step: it samples as many answers as before, and trains on them. */
const grpoWork: Work = { ...work, rows: work.answers, rowTokens: work.promptTokens + work.answerTokens };

/** What a side does. */
interface Speeds {
  /** Tokens a second. */
  readonly trained: number;
  /** Tokens a second. */
  readonly sampled: number;
  /** Seconds of {@link grpoWork}, sampling and training; NaN where nobody asks. */
  readonly grpoSeconds: number;
}

async function measure(side: RuntimeSide): Promise<Speeds> {
  const connection = await connectRuntime({ address: side.address });
  try {
    const model = await connection.createModel({ baseModel: 'tiny-chat', modelId: 'benchmark', seed: 1 });
    return await speedsOf(model);
  } finally {
    await connection.close();
    await side.close();
  }
}

async function speedsOf(model: RuntimeModel): Promise<Speeds> {
  const seconds: number[] = [];
  const sampled: number[] = [];
  const grpoSeconds: number[] = [];
  const published = await (await model.publishWeights()).result;
  for (let round = 0; round <= rounds; round += 1) {
    seconds.push(await secondsOfStep(model, work));
    sampled.push(await sampledPerSecond(published, work, round));
    if (flags.trl === undefined) continue;
    const began = performance.now();
    await sampledPerSecond(published, grpoWork, -round);
    grpoSeconds.push((performance.now() - began) / 1000 + (await secondsOfStep(model, grpoWork)));
  }
  // The first round makes programs and buffers.
  return {
    trained: trainedPerSecond(seconds.slice(1)),
    sampled: median(sampled.slice(1)),
    grpoSeconds: median(grpoSeconds.slice(1)),
  };
}

function trainedPerSecond(seconds: readonly number[]): number {
  return (work.rows * work.rowTokens) / median(seconds);
}

function rowsOf(name: string, speeds: Speeds, peer: Speeds | null): BenchmarkResult[] {
  const row = (what: string, value: number, unit: string): BenchmarkResult =>
    result(`${name}: ${what}`, { value, unit }, null);
  return [
    row('trained', speeds.trained, 'tokens/s'),
    row('sampled', speeds.sampled, 'tokens/s'),
    ...(peer === null
      ? []
      : [
          row('training to PyTorch', speeds.trained / peer.trained, 'times'),
          row("sampling to Transformers' generate", speeds.sampled / peer.sampled, 'times'),
        ]),
  ];
}

async function againstTrl(python: string, gpu: Speeds): Promise<BenchmarkResult[]> {
  const { stepSeconds } = await runPeer(python, 'trl_peer.py', { weights: weightFile, rounds, ...grpoWork });
  const seconds = median(stepSeconds);
  return [
    result('TRL: a step of GRPO, 64 answers of at most 32 tokens', { value: seconds, unit: 's' }, null),
    result('gpu runtime, on a CPU: the same work', { value: gpu.grpoSeconds, unit: 's' }, null),
    result('gpu runtime to TRL, the same work', { value: seconds / gpu.grpoSeconds, unit: 'times' }, null),
  ];
}

const folder = await mkdtemp(path.join(tmpdir(), 'agl-bench-'));
const results: BenchmarkResult[] = [];
try {
  let peer: Speeds | null = null;
  if ('python' in environment) {
    const { python } = environment;
    const order = { weights: weightFile, rounds, ...work };
    const plain = await runPeer(python, 'torch_peer.py', order);
    peer = {
      trained: trainedPerSecond(plain.stepSeconds),
      sampled: median(plain.sampledPerSecond),
      grpoSeconds: Number.NaN,
    };
    results.push(...rowsOf('PyTorch', peer, null));
    const gpu = await measure(await startGpu(python, folder));
    results.push(...rowsOf('gpu runtime, on a CPU', gpu, peer));
    if (flags.trl !== undefined) results.push(...(await againstTrl(flags.trl, gpu)));
  } else {
    console.error(`Without PyTorch: ${environment.missing}`);
  }
  results.push(...rowsOf('embedded runtime', await measure(await startEmbedded(folder)), peer));
} finally {
  await rm(folder, { recursive: true, force: true });
}
report('runtime', results);
