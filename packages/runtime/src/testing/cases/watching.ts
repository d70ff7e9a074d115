import { describe, expect, it, onTestFinished } from 'vitest';
import { type OperationEvent, OperationState } from '../../gen/agentlightning/runtime/v1/operation_pb.ts';
import type { WatchOperationsResponse } from '../../gen/agentlightning/runtime/v1/training_pb.ts';
import { batchOfFour } from '../a-batch.ts';
import { type Bench, fingerprintOfModel, plainLoss } from '../bench.ts';
import type { RawModel } from '../raw-model.ts';

/** Watchers receive all results, despite lost connections. */
export function describeWatching(bench: Bench): void {
  describe('watching', () => {
    it('sends the history to a new watcher', async () => {
      const model = await publishTimes(await bench.rawModel(), 3);
      const events = await readUntil(model, 3);
      expect(lastStates(events)).toEqual(new Map([0, 1, 2, 3].map((seq) => [seq, OperationState.SUCCEEDED])));
    });

    it('resumes after a cursor without duplicates or gaps', async () => {
      const model = await publishTimes(await bench.rawModel(), 2);
      const seen = await readUntil(model, 2);
      await publishTimes(model, 2, 3);
      const rest = await readUntil(model, 4, seen.at(-1)?.cursor);
      expect([...lastStates(rest).keys()]).toEqual([3, 4]);
      const cursors = [...seen, ...rest].map(({ cursor }) => cursor);
      expect(new Set(cursors).size).toBe(cursors.length);
    });

    it('starts from the beginning after an unknown cursor', async () => {
      const model = await publishTimes(await bench.rawModel(), 2);
      const events = await readUntil(model, 2, 'another-life:17');
      expect([...lastStates(events).keys()]).toEqual([0, 1, 2]);
    });

    it('sends every operation to a slow reader', async () => {
      const model = await bench.rawModel();
      const responses = watch(model)[Symbol.asyncIterator]();
      const first = await responses.next();
      await publishTimes(model, 60);
      const rest = await readEvents({ [Symbol.asyncIterator]: () => responses }, 60);
      const events = [...(first.value?.event === undefined ? [] : [first.value.event]), ...rest];
      expect(lastStates(events).size).toBe(61);
      expect(new Set(lastStates(events).values())).toEqual(new Set([OperationState.SUCCEEDED]));
    });

    it('delivers results to a client whose connection was cut after it sent everything', async () => {
      const proxy = await bench.proxy();
      const model = await bench.model({ runtime: await bench.connect({ address: proxy.address }) });
      const control = await bench.model();
      const results = [];
      for (const each of [model, control]) {
        for (let step = 0; step < 3; step += 1) {
          await each.forwardBackward(batchOfFour, plainLoss);
          results.push((await each.optimStep({ learningRate: 0.05 })).result);
          if (each === model) proxy.cut();
        }
      }
      const steps = (await Promise.all(results)).map(({ step }) => step);
      expect(steps).toEqual([1, 2, 3, 1, 2, 3]);
      bench.expectSame(await fingerprintOfModel(model, batchOfFour), await fingerprintOfModel(control, batchOfFour));
    });
  });
}

function watch({ client, modelId }: RawModel, afterCursor = ''): AsyncIterable<WatchOperationsResponse> {
  const watching = new AbortController();
  onTestFinished(() => watching.abort());
  return client.training.watchOperations({ modelId, afterCursor }, { signal: watching.signal });
}

async function publishTimes(model: RawModel, times: number, first = 1): Promise<RawModel> {
  for (let seq = first; seq < first + times; seq += 1) {
    await model.client.training.publishSamplerWeights({ key: model.key(seq) });
  }
  await model.ended(first + times - 1);
  return model;
}

/** Events until an operation has succeeded. */
function readUntil(model: RawModel, seq: number, afterCursor?: string): Promise<readonly OperationEvent[]> {
  return readEvents(watch(model, afterCursor), seq);
}

async function readEvents(
  stream: AsyncIterable<WatchOperationsResponse>,
  seq: number,
): Promise<readonly OperationEvent[]> {
  const events: OperationEvent[] = [];
  for await (const { event } of stream) {
    if (event === undefined) continue;
    events.push(event);
    if (event.operation?.seq === seq && event.operation.state === OperationState.SUCCEEDED) break;
  }
  return events;
}

function lastStates(events: readonly OperationEvent[]): ReadonlyMap<number, OperationState> {
  const states = new Map(
    events.map(({ operation }) => [operation?.seq ?? -1, operation?.state ?? OperationState.UNSPECIFIED]),
  );
  return new Map([...states].toSorted(([one], [other]) => one - other));
}
