import { describe, expect, it } from 'vitest';
import { CallSignal } from './call-signal.ts';

describe('the signal of a call', () => {
  it('tells everybody once, also those who ask when it is over', () => {
    const signal = new CallSignal();
    const told: string[] = [];
    signal.onAbort(() => told.push('first'));
    signal.abort('gone');
    signal.abort('again');
    signal.onAbort(() => told.push('late'));
    expect(told).toEqual(['first', 'late']);
    expect(signal.reason).toBe('gone');
  });

  it('is an AbortSignal for those who need one, whether they ask before or after', () => {
    const signal = new CallSignal();
    const before = signal.abortSignal;
    expect(before.aborted).toBe(false);
    signal.abort('gone');
    expect([before.aborted, before.reason]).toEqual([true, 'gone']);
    const late = new CallSignal();
    late.abort('gone');
    expect(late.abortSignal.reason).toBe('gone');
  });

  it('follows an AbortSignal, also one that is over', () => {
    const controller = new AbortController();
    const follower = CallSignal.following(controller.signal);
    expect(follower.aborted).toBe(false);
    controller.abort('gone');
    expect(follower.reason).toBe('gone');
    expect(CallSignal.following(controller.signal).aborted).toBe(true);
  });
});
