import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from '@agentlightning/core/internal';
import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { connectRuntime } from '@agentlightning/runtime';
import { lossDefinitions } from '@agentlightning/runtime/internal/losses';
import { aDatum } from '@agentlightning/runtime/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pythonSuites } from '../../../tools/describe-with-python.ts';
import { pythonEnvironments } from '../../../tools/python-environment.ts';
import { type RealServer, startRealServer } from '../../../tools/tinker-servers/start-server.ts';
import { linearise, stepData, trainedPositions } from '../src/engine/accumulated-batch.ts';
import { examineTinkerServer, type LossScale, startTinkerRuntime } from '../src/index.ts';
import type { RemoteModel } from '../src/wire/remote-model.ts';
import { layerGroups, TinkerSession } from '../src/wire/tinker-session.ts';

/** SkyRL compiles for minutes when its cache is empty. */
const timeout = 900_000;

const describeServers = await pythonSuites(pythonEnvironments['tinker servers']);

/** Two sequences of different lengths, with ratios below, inside and above the clips. */
const data: readonly TrainingDatum[] = [
  aDatum(1, {
    trained: [{ start: 2, end: 6 }],
    samplingLogprobs: Float32Array.of(-5, -6, -5.4, -5.6),
    referenceLogprobs: new Float32Array(4).fill(-5),
    advantages: Float32Array.of(1, -1, 1, 0.5),
    weights: Float32Array.of(0.5, 0.3, 0.7, 0.5),
  }),
  aDatum(2, {
    trained: [{ start: 4, end: 6 }],
    samplingLogprobs: Float32Array.of(-5.5, -6.5),
    referenceLogprobs: Float32Array.of(-5, -6),
    advantages: Float32Array.of(-1, 1),
    weights: Float32Array.of(0.4, 0.9),
  }),
];

/** The trained tokens of all data, each with its place. */
const places = data.flatMap((datum, index) => trainedPositions(datum).map((position) => ({ index, position })));

/** The sum of a row times a column. */
function dot(left: readonly number[], right: readonly number[]): number {
  return left.reduce((sum, value, at) => sum + value * (right[at] ?? Number.NaN), 0);
}

describeServers('a real Tinker server', (python) => {
  describe.each([
    {
      kind: 'skyrl',
      lossScale: 'sequence_means',
      isBitwise: true,
      alpha: 32,
      drawsFromAll: true,
      limitsGradient: false,
    },
    {
      kind: 'hatchery',
      lossScale: 'token_mean',
      isBitwise: false,
      alpha: null,
      drawsFromAll: false,
      limitsGradient: true,
    },
  ] as const)('$kind', ({ kind, lossScale, isBitwise, ...expected }) => {
    let folder = '';
    let server: RealServer;
    let session: TinkerSession;

    beforeAll(async () => {
      folder = await mkdtemp(path.join(tmpdir(), 'tinker-real-'));
      server = await startRealServer({ kind, python, folder });
      session = await TinkerSession.open({ baseUrl: server.url, apiKey: server.apiKey, clock: systemClock });
    }, timeout);

    afterAll(async () => {
      session.close();
      await server.close();
      await rm(folder, { recursive: true, force: true });
    });

    test('is measured', { timeout }, async () => {
      const { url: serverUrl, apiKey: serverKey, model } = server;
      const measured = await examineTinkerServer({ serverUrl, serverKey, model });
      expect(measured).toEqual({ lossScale, hasSnapshots: false, ...expected });
    });

    test('has the gradients of the reference losses', { timeout }, async () => {
      // One model for all: some servers draw other weights for the same seed. The steps are so small that it stays the same.
      const options = { baseModel: server.model, rank: 8, seed: 1, layers: layerGroups };
      const model = await session.createModel(options);
      const gram = await tokenGradients(model);
      for (const [name, given] of [
        ['ppo', { kl_coefficient: 0.3, dual_clip: 1.2 }],
        ['gspo', { clip_low: 0.2, clip_high: 0.3 }],
        ['dro', { beta: 0.4 }],
      ] as const) {
        const defaults = lossDefinitions.find((loss) => loss.name === name)?.defaults ?? {};
        const loss = { name, parameters: { ...defaults, ...given } };
        const before = await logprobsOf(model);
        const logprobs = data.map((_, index) =>
          Float32Array.from(before.filter((__, at) => places[at]?.index === index)),
        );
        const batch = linearise({ data }, loss, logprobs);
        const slopes = batch.data.flatMap((datum) => [...datum.slopes]);
        const wanted = gram.map((row) => -dot(row, slopes));
        const found = await effectOf(model, stepData(scaled(batch.data, rate), lossScale), lossScale);
        const largest = Math.max(...wanted.map(Math.abs));
        const gaps = found.map((value, at) => Math.abs(value / rate - (wanted[at] ?? Number.NaN)));
        expect(Math.max(...gaps) / largest, name).toBeLessThan(0.05);
      }
      await model.unload();
    });

    test('resumes from a checkpoint', { timeout }, async () => {
      const { url: serverUrl, apiKey: serverKey, model: name } = server;
      const checkpointDir = path.join(folder, 'checkpoints');
      const started = await startTinkerRuntime({ serverUrl, serverKey, model: name, checkpointDir });
      const runtime = await connectRuntime({ address: started.address, apiKey: started.apiKey });
      try {
        const model = await runtime.createModel({ baseModel: name, modelId: 'm', seed: 1, lora: { rank: 8 } });
        const train = async (): Promise<void> => {
          await (await model.forwardBackward({ data }, { name: 'ppo', parameters: {} })).result;
          await (await model.optimStep({ learningRate: 1e-2 })).result;
        };
        await train();
        const { uri } = await (await model.saveCheckpoint('first', {})).result;
        await train();
        const wanted = (await model.logprobs({ data })).flatMap((logprobs) => [...logprobs]);
        await (await model.loadCheckpoint(uri)).result;
        await train();
        const found = (await model.logprobs({ data })).flatMap((logprobs) => [...logprobs]);
        if (isBitwise) expect(found).toEqual(wanted);
        else expect(Math.max(...found.map((value, at) => Math.abs(value - (wanted[at] ?? 0))))).toBeLessThan(0.2);
      } finally {
        await runtime.close();
        await started.close();
      }
    });
  });
});

/** The size of a step: small enough to be linear, large enough for float32. */
const rate = 2e-5;

/**
 * The products of the gradients of all trained tokens' log-probabilities, by a step for each token. A server that averages does not change a
 * step with one token of one sequence.
 */
async function tokenGradients(model: RemoteModel): Promise<readonly (readonly number[])[]> {
  const columns: (readonly number[])[] = [];
  for (const [at, { index, position }] of places.entries()) {
    const { tokenIds = new Int32Array() } = data[index] ?? {};
    const before = await logprobsOf(model);
    const column = (value: number): Float32Array => {
      const filled = new Float32Array(tokenIds.length - 1);
      filled[position - 1] = value;
      return filled;
    };
    const inputs = { logprobs: column(before[at] ?? 0), advantages: column(rate), weights: column(1) };
    columns.push((await effectOf(model, [{ tokenIds, inputs }], 'sum')).map((value) => value / rate));
  }
  return places.map((_, row) => columns.map((column) => column[row] ?? Number.NaN));
}

/** How a step of plain descent changes the log-probabilities of the trained tokens. */
async function effectOf(
  model: RemoteModel,
  passes: Parameters<RemoteModel['addGradients']>[0],
  scale: LossScale,
): Promise<readonly number[]> {
  const before = await logprobsOf(model);
  await model.addGradients(passes, { multipliesByTokens: scale === 'token_mean' });
  const adam = { beta1: 0, beta2: 0, epsilon: 1, weightDecay: 0, gradientClipNorm: 0 };
  await model.step({ learningRate: 1, ...adam });
  return (await logprobsOf(model)).map((value, at) => value - (before[at] ?? 0));
}

async function logprobsOf(model: RemoteModel): Promise<readonly number[]> {
  const scored = await model.score(data.map(({ tokenIds }) => ({ tokenIds, inputs: {} })));
  return places.map(({ index, position }) => scored[index]?.[position - 1] ?? Number.NaN);
}

function scaled<TDatum extends { readonly slopes: Float32Array }>(
  batch: readonly TDatum[],
  factor: number,
): readonly TDatum[] {
  return batch.map((datum) => ({ ...datum, slopes: datum.slopes.map((slope) => slope * factor) }));
}
