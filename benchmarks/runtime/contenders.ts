import { connectRuntime, type RuntimeModel } from '@agentlightning/runtime';
import { startPeer } from './python-peer.ts';
import { sampledPerSecond } from './sampling.ts';
import { type RuntimeSide, weightFile } from './sides.ts';
import { secondsOfStep, type Work } from './training.ts';

/** Who is measured, and what it can do. */
export interface Contender {
  readonly name: string;
  readonly unit: 'tokens/s' | 's';
  /** Each measures once; they are given the round, counted from 0. */
  readonly runs: Readonly<Record<string, (round: number) => Promise<number>>>;
  close(): Promise<unknown>;
}

const work: Work = {
  rows: 256,
  rowTokens: 76,
  promptTokens: 24,
  answers: 64,
  answerTokens: 32,
  group: 1,
  temperature: 2,
};

/** Of a temperature at which the model seldom ends an answer before its time. */
const longWork: Work = { ...work, temperature: 8 };

/** What TRL's trainer does in a step: it samples groups of answers, and trains on them. */
const grpoWork: Work = { ...longWork, group: 8, rows: work.answers, rowTokens: 50, promptTokens: 18 };

/** What is sampled: 64 answers at the same time. */
const samplings: Readonly<Record<string, Work>> = {
  'sampled, answers of about 5 tokens': work,
  'sampled, answers of about 30 tokens': longWork,
  'sampled, answers of about 30 tokens, 8 to a prompt': { ...longWork, group: 8 },
};

const grpoStep = 'a step of GRPO, 64 answers of about 30 tokens';

const trainedPerSecond = (seconds: number): number => (work.rows * work.rowTokens) / seconds;

/** Plain PyTorch and Transformers. */
export function torchContender(python: string): Contender {
  const peer = startPeer(python, 'torch_peer.py', { weights: weightFile, ...work });
  const sampling = Object.entries(samplings).map(([what, { temperature }]) => [
    what,
    (): Promise<number> => peer.ask(`sample ${temperature}`),
  ]);
  return {
    name: 'PyTorch',
    unit: 'tokens/s',
    runs: { trained: async () => trainedPerSecond(await peer.ask('train')), ...Object.fromEntries(sampling) },
    close: peer.close,
  };
}

/** A runtime, over its wire. */
export async function runtimeContender(name: string, side: RuntimeSide): Promise<Contender> {
  const { model, close } = await openModel(side);
  const published = { ...(await (await model.publishWeights()).result), apiKey: side.apiKey };
  const sampling = Object.entries(samplings).map(([what, each]) => [
    what,
    (round: number): Promise<number> => sampledPerSecond(published, each, round),
  ]);
  return {
    name,
    unit: 'tokens/s',
    runs: { trained: async () => trainedPerSecond(await secondsOfStep(model, work)), ...Object.fromEntries(sampling) },
    close,
  };
}

/** TRL's GRPO trainer. */
export function trlContender(python: string, steps: number): Contender {
  const peer = startPeer(python, 'trl_peer.py', { weights: weightFile, steps, ...grpoWork });
  return { name: 'TRL', unit: 's', runs: { [grpoStep]: () => peer.ask('step') }, close: peer.close };
}

/** The same work by a runtime, over its wire. */
export async function grpoContender(name: string, side: RuntimeSide): Promise<Contender> {
  const { model, close } = await openModel(side);
  const published = { ...(await (await model.publishWeights()).result), apiKey: side.apiKey };
  const step = async (round: number): Promise<number> => {
    const began = performance.now();
    await sampledPerSecond(published, grpoWork, round);
    return (performance.now() - began) / 1000 + (await secondsOfStep(model, grpoWork));
  };
  return { name, unit: 's', runs: { [grpoStep]: step }, close };
}

async function openModel(side: RuntimeSide): Promise<{ model: RuntimeModel; close: () => Promise<void> }> {
  const connection = await connectRuntime(
    side.apiKey === undefined ? { address: side.address } : { address: side.address, apiKey: side.apiKey },
  );
  const model = await connection.createModel({ baseModel: 'tiny-chat', modelId: 'benchmark', seed: 1 });
  const close = async (): Promise<void> => {
    await connection.close();
    await side.close();
  };
  return { model, close };
}
