import { ManualClock } from '@agentlightning/core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OperationState } from '../gen/agentlightning/runtime/v1/operation_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { HostedModel } from './hosted-model.ts';
import { Mutex } from './mutex.ts';
import type { OperationWork } from './operation-record.ts';

const reorderWindow = 6;

function aModel(): HostedModel {
  const model = new HostedModel({
    modelId: 'model',
    baseModel: 'bag',
    seed: 1,
    hasValueHead: false,
    clock: new ManualClock(),
    mutex: new Mutex(),
    reorderWindow,
    resultTtlMs: 1_000,
  });
  model.accept(0, work('make', []));
  return model;
}

function work(name: string, log: string[]): OperationWork {
  const execute = async () => {
    await Promise.resolve();
    log.push(name);
    return { case: undefined } as const;
  };
  return { fingerprint: name, addsGradients: false, execute };
}

/** Runs all pending work. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('a hosted model', () => {
  it('executes each operation once and in sequence, for any retries and order of arrival', async () => {
    const arrivals = fc.array(fc.integer({ min: 1, max: 15 }), { maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(arrivals, fc.integer({ min: 0, max: 3 }), async (seqs, pauseEvery) => {
        const model = aModel();
        const log: string[] = [];
        const accepted = new Set<number>();
        for (const [at, seq] of seqs.entries()) {
          const expected = model.nextSeq;
          try {
            expect(model.accept(seq, work(`op ${seq}`, log)).seq).toBe(seq);
            accepted.add(seq);
          } catch (error) {
            expect(error).toMatchObject({ code: 'SEQUENCE_GAP', nextSequence: expected });
            expect(seq).toBeGreaterThanOrEqual(expected + reorderWindow);
          }
          if (pauseEvery > 0 && at % pauseEvery === 0) await settle();
        }
        await settle();
        const inOrder = Array.from({ length: model.nextSeq - 1 }, (_, index) => index + 1);
        expect(log).toEqual(inOrder.map((seq) => `op ${seq}`));
        expect(inOrder.every((seq) => accepted.has(seq))).toBe(true);
        expect(accepted.has(model.nextSeq)).toBe(false);
      }),
    );
  });

  it('refuses another operation under a used number, and keeps the first', async () => {
    const model = aModel();
    const log: string[] = [];
    model.accept(1, work('first', log));
    expect(() => model.accept(1, work('second', log))).toThrow(RuntimeError);
    await settle();
    expect(log).toEqual(['first']);
  });

  it('frees the numbers beyond a gap when another session takes over', async () => {
    const model = aModel();
    const log: string[] = [];
    model.takeOver('old');
    const stranded = model.accept(3, work('stranded', log));
    model.takeOver('new');
    for (const seq of [1, 2, 3]) model.accept(seq, work(`new ${seq}`, log));
    await settle();
    expect(stranded.state).toBe(OperationState.CANCELLED);
    expect(log).toEqual(['new 1', 'new 2', 'new 3']);
    expect(() => model.assertOwner('old')).toThrow('does not own');
  });
});
