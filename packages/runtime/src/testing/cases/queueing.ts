import { describe, expect, it, onTestFinished } from 'vitest';
import { ErrorCategory } from '../../gen/agentlightning/runtime/v1/error_pb.ts';
import { type Operation, OperationState, QueueReason } from '../../gen/agentlightning/runtime/v1/operation_pb.ts';
import { aBatch, batchOfFour } from '../a-batch.ts';
import type { Bench } from '../bench.ts';
import type { RawModel } from '../raw-model.ts';

/** Waiting operations report their reason. */
export function describeQueueing(bench: Bench): void {
  describe('waiting', () => {
    it('reports that an operation waits for a missing one, and its position', async () => {
      const model = await bench.rawModel();
      const { training } = model.client;
      const { operation } = await training.publishSamplerWeights({ key: model.key(3) });
      const waiting = { state: OperationState.STAGED, queueReason: QueueReason.SEQUENCE_GAP, queuePosition: 2 };
      expect(operation).toMatchObject(waiting);
      const { operation: asked } = await training.getOperation({ modelId: model.modelId, seq: 3 });
      expect(asked).toMatchObject(waiting);
    });

    it('reports a changed reason to watchers', async () => {
      const model = await bench.rawModel();
      const { training } = model.client;
      await training.publishSamplerWeights({ key: model.key(3) });
      const seen = watch(model, 3);
      await seen.next((operation) => operation.queueReason === QueueReason.SEQUENCE_GAP);
      // Much work is accepted before it, so that it waits for that.
      await model.send(model.upload(2, aBatch(Array.from({ length: 300 }, (_, at) => at % 13))));
      await model.send(model.upload(1, aBatch(Array.from({ length: 300 }, (_, at) => at % 13))));
      const last = await seen.next(({ state }) => state === OperationState.SUCCEEDED);
      expect(last).toMatchObject({ queuePosition: 0, queueReason: QueueReason.UNSPECIFIED });
      // A watcher that observes it waiting after the gap was filled receives the reason.
      const others = seen.all.filter(
        ({ state, queueReason }) => state === OperationState.STAGED && queueReason !== QueueReason.SEQUENCE_GAP,
      );
      for (const { queueReason } of others) {
        expect([QueueReason.EARLIER_OPERATION, QueueReason.ENGINE_BUSY, QueueReason.PAUSED]).toContain(queueReason);
      }
    });

    it('reports monotonic progress', async () => {
      const model = await bench.rawModel();
      const seen = watch(model, 1);
      await model.send(model.upload(1, aBatch(Array.from({ length: 400 }, (_, at) => at % 13))));
      await seen.next(({ state }) => state === OperationState.SUCCEEDED);
      const fractions = seen.all.flatMap(({ progress }) => (progress === undefined ? [] : [progress.fraction]));
      expect(fractions).toEqual(fractions.toSorted((one, other) => one - other));
      for (const fraction of fractions) expect(fraction).toBeGreaterThanOrEqual(0);
    });

    it('reports complete progress at the end', async ({ skip }) => {
      skip(!(await bench.has('progress')), 'the runtime does not report progress');
      const model = await bench.rawModel();
      const seen = watch(model, 1);
      await model.send(model.upload(1, aBatch(Array.from({ length: 400 }, (_, at) => at % 13))));
      const last = await seen.next(({ state }) => state === OperationState.SUCCEEDED);
      expect(last.progress).toMatchObject({ fraction: 1, tokensDone: 4_000, tokensTotal: 4_000 });
    });

    it('reports the category and the remedy of a failure', async () => {
      const model = await bench.rawModel();
      await model.client.training.optimStep({ key: model.key(1), adam: { learningRate: 0.1 } });
      const { outcome } = await model.ended(1);
      expect(outcome).toMatchObject({ case: 'error', value: { category: ErrorCategory.USER } });
      expect(outcome.case === 'error' && outcome.value.remedy).toBeTruthy();
      await model.send(model.upload(2, batchOfFour));
    });
  });
}

interface Watched {
  /** All reports so far. */
  readonly all: readonly Operation[];
  /** The first past or future report that satisfies a predicate. */
  next(isIt: (operation: Operation) => boolean): Promise<Operation>;
}

/** All reports of one operation. */
function watch({ client, modelId }: RawModel, seq: number): Watched {
  const all: Operation[] = [];
  const listeners = new Set<() => void>();
  const watching = new AbortController();
  onTestFinished(() => watching.abort());
  const read = async (): Promise<void> => {
    for await (const { event } of client.training.watchOperations({ modelId }, { signal: watching.signal })) {
      if (event?.operation?.seq !== seq) continue;
      all.push(event.operation);
      for (const listener of [...listeners]) listener();
    }
  };
  // Ends with the test, by cancellation.
  read().catch(() => {});
  return {
    all,
    next: (isIt) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = all.find(isIt);
          if (found === undefined) return;
          listeners.delete(look);
          resolve(found);
        };
        listeners.add(look);
        look();
      }),
  };
}
