import { ManualClock } from '@agentlightning/core/testing';
import { Code, ConnectError } from '@connectrpc/connect';
import { describe, expect, it } from 'vitest';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { toConnectError } from '../wire/grpc-error.ts';
import { CallPolicy } from './call-policy.ts';

const lost = new ConnectError('connection refused', Code.Unavailable);

const refused = (reason: ErrorReason, retryAfterMs?: number): unknown =>
  toConnectError(new RuntimeError({ reason, message: 'refused', retryAfterMs }));

/** A call that fails with these errors in order, then returns the result of `rest`. */
function failing(...ways: readonly unknown[]): { call: () => Promise<string>; tries: () => number } {
  let tries = 0;
  const call = async (): Promise<string> => {
    const way = ways[tries];
    tries += 1;
    if (way !== undefined) throw way;
    return 'done';
  };
  return { call, tries: () => tries };
}

function policyOn(clock: ManualClock, signal: AbortSignal = new AbortController().signal): CallPolicy {
  return new CallPolicy({ address: 'host:1', clock, reconnectTimeoutMs: 1_000, signal });
}

describe('a call policy', () => {
  it('retries on a lost connection until it is restored', async () => {
    const clock = new ManualClock();
    const { call, tries } = failing(lost, lost, lost);
    const running = policyOn(clock).run(call);
    await clock.advance(500);
    expect(await running).toBe('done');
    expect(tries()).toBe(4);
  });

  it('gives up after the reconnect timeout and reports the address', async () => {
    const clock = new ManualClock();
    const running = policyOn(clock).run(() => Promise.reject(lost));
    const outcome = expect(running).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
    await clock.advance(1_000);
    await outcome;
    await expect(running).rejects.toThrow('host:1');
  });

  it.each([
    ['a full queue', ErrorReason.QUEUE_FULL],
    ['an unavailable engine', ErrorReason.ENGINE_UNAVAILABLE],
  ])('waits for %s as long as requested, beyond the reconnect timeout', async (_what, reason) => {
    const clock = new ManualClock();
    const full = refused(reason, 900);
    const { call, tries } = failing(full, full, full);
    const running = policyOn(clock).run(call);
    await clock.advance(899);
    expect(tries()).toBe(1);
    await clock.advance(2_000);
    expect(await running).toBe('done');
  });

  it.each([ErrorReason.INVALID, ErrorReason.PRECONDITION, ErrorReason.SEQUENCE_REUSED, ErrorReason.INTERNAL])(
    'does not retry a call refused for reason %d',
    async (reason) => {
      const { call, tries } = failing(refused(reason));
      await expect(policyOn(new ManualClock()).run(call)).rejects.toMatchObject({ reason });
      expect(tries()).toBe(1);
    },
  );

  it('treats NOT_FOUND as success on a retry, as an error on the first attempt', async () => {
    const clock = new ManualClock();
    const gone = refused(ErrorReason.NOT_FOUND);
    const removing = policyOn(clock).runRemoval(failing(lost, gone).call);
    await clock.advance(100);
    await expect(removing).resolves.toBeUndefined();
    const never = policyOn(clock).runRemoval(failing(gone).call);
    await expect(never).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('stops waiting when the connection is closed', async () => {
    const clock = new ManualClock();
    const closing = new AbortController();
    const running = policyOn(clock, closing.signal).run(() => Promise.reject(lost));
    const outcome = expect(running).rejects.toThrow('closed by hand');
    await clock.waitForSleepers(1);
    closing.abort(new TypeError('closed by hand'));
    await outcome;
  });
});
