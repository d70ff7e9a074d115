import path from 'node:path';
import { connectRuntime, type RuntimeModel } from '@agentlightning/runtime';
import { z } from 'zod';
import { startRuntime } from '../../apps/gpu-runtime/test/runtime-process.ts';
import { forkModule, startLineProgram } from '../child-process.ts';
import { type KeyedEndpoint, sampledPerSecond, secondsOfStep, type Work } from './work.ts';

/** A measured implementation and its measurements. */
export interface Contender {
  readonly name: string;
  readonly unit: 'tokens/s' | 's';
  /** Each measures once; called with the round, from 0. */
  readonly runs: Readonly<Record<string, (round: number) => Promise<number>>>;
  close(): Promise<unknown>;
}

/** A runtime in a separate process. */
interface RuntimeProcess {
  /** `host:port` of its gRPC server. */
  readonly address: string;
  /** Absent where none is required. */
  readonly apiKey?: string;
  close(): Promise<unknown>;
}

/** The initial weights of all contenders. */
const weightFile: string = path.join(import.meta.dirname, '../../packages/runtime-cpu/models/tiny-chat.safetensors');

const gpuRuntimeSources = path.join(import.meta.dirname, '../../apps/gpu-runtime/src');

const work: Work = {
  rows: 256,
  rowTokens: 76,
  promptTokens: 24,
  answers: 64,
  answerTokens: 32,
  group: 1,
  temperature: 2,
};

/** With a temperature at which the model rarely ends a response before its limit. */
const longWork: Work = { ...work, temperature: 8 };

/** A step of TRL's trainer: it samples groups of responses, and trains on them. */
const grpoWork: Work = { ...longWork, group: 8, rows: work.answers, rowTokens: 50, promptTokens: 18 };

/** Sampling of 64 concurrent responses. */
const samplings: Readonly<Record<string, Work>> = {
  'sampled, answers of about 5 tokens': work,
  'sampled, answers of about 30 tokens': longWork,
  'sampled, answers of about 30 tokens, 8 to a prompt': { ...longWork, group: 8 },
};

const grpoStep = 'a step of GRPO, 64 answers of about 30 tokens';

const trainedPerSecond = (seconds: number): number => (work.rows * work.rowTokens) / seconds;

/** Starts the embedded runtime. */
export async function startEmbedded(folder: string): Promise<RuntimeProcess> {
  const module = path.join(import.meta.dirname, 'embedded-process.ts');
  const { ready, close } = await forkModule<{ readonly address: string; readonly apiKey: string }>(module, [
    path.join(folder, 'embedded'),
  ]);
  return { ...ready, close };
}

/** Starts the GPU runtime on one thread of the CPU, with the embedded runtime's model. */
export async function startGpu(python: string, folder: string): Promise<RuntimeProcess> {
  const flags = ['--model', `tiny-chat=${weightFile}`, '--checkpoints', path.join(folder, 'gpu')];
  const { address, end } = await startRuntime(python, flags);
  return { address, close: () => end('SIGTERM') };
}

/** Plain PyTorch and Transformers. */
export function torchContender(python: string): Contender {
  const program = startPythonProgram(python, 'torch_peer.py', { weights: weightFile, ...work });
  const sampling = Object.entries(samplings).map(([what, { temperature }]) => [
    what,
    (): Promise<number> => program.measure(`sample ${temperature}`),
  ]);
  return {
    name: 'PyTorch',
    unit: 'tokens/s',
    runs: { trained: async () => trainedPerSecond(await program.measure('train')), ...Object.fromEntries(sampling) },
    close: program.close,
  };
}

/** TRL's GRPO trainer. */
export function trlContender(python: string, steps: number): Contender {
  const program = startPythonProgram(python, 'trl_peer.py', { weights: weightFile, steps, ...grpoWork });
  return { name: 'TRL', unit: 's', runs: { [grpoStep]: () => program.measure('step') }, close: program.close };
}

/** A runtime, over gRPC and HTTP. */
export async function runtimeContender(name: string, runtime: RuntimeProcess): Promise<Contender> {
  const { model, endpoint, close } = await openModel(runtime);
  const sampling = Object.entries(samplings).map(([what, each]) => [
    what,
    (round: number): Promise<number> => sampledPerSecond(endpoint, each, round),
  ]);
  return {
    name,
    unit: 'tokens/s',
    runs: { trained: async () => trainedPerSecond(await secondsOfStep(model, work)), ...Object.fromEntries(sampling) },
    close,
  };
}

/** A GRPO step of a runtime, over gRPC and HTTP. */
export async function grpoContender(name: string, runtime: RuntimeProcess): Promise<Contender> {
  const { model, endpoint, close } = await openModel(runtime);
  const step = async (round: number): Promise<number> => {
    const began = performance.now();
    await sampledPerSecond(endpoint, grpoWork, round);
    return (performance.now() - began) / 1000 + (await secondsOfStep(model, grpoWork));
  };
  return { name, unit: 's', runs: { [grpoStep]: step }, close };
}

async function openModel(
  runtime: RuntimeProcess,
): Promise<{ readonly model: RuntimeModel; readonly endpoint: KeyedEndpoint; readonly close: () => Promise<void> }> {
  const { address, apiKey } = runtime;
  const connection = await connectRuntime(apiKey === undefined ? { address } : { address, apiKey });
  const model = await connection.createModel({ baseModel: 'tiny-chat', modelId: 'benchmark', seed: 1 });
  const endpoint = { ...(await (await model.publishWeights()).result), apiKey };
  const close = async (): Promise<void> => {
    await connection.close();
    await runtime.close();
  };
  return { model, endpoint, close };
}

const measurement = z.object({ measured: z.number() });

/** A Python program beside this file. */
interface PythonProgram {
  /** Measures once. */
  measure(what: string): Promise<number>;
  close(): Promise<void>;
}

/** @param settings - the first line of its input, as JSON */
function startPythonProgram(python: string, file: string, settings: object): PythonProgram {
  const environment = { PYTHONPATH: gpuRuntimeSources, HF_HUB_OFFLINE: '1', TOKENIZERS_PARALLELISM: 'false' };
  const program = startLineProgram(python, [path.join(import.meta.dirname, file)], environment);
  program.write(JSON.stringify(settings));
  const measure = async (what: string): Promise<number> => {
    program.write(what);
    for (;;) {
      const line = await program.nextLine();
      // Libraries may print other lines.
      if (line.startsWith('{"measured"')) return measurement.parse(JSON.parse(line)).measured;
    }
  };
  return { measure, close: program.close };
}
