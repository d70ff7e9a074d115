import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CallSlots } from './call-slots.ts';

const forever = new AbortController().signal;

/** Operations on the slots of an upstream. */
const event = fc.oneof(
  fc.record({ kind: fc.constant('come' as const), rollout: fc.constantFrom('a', 'b', 'c') }),
  fc.record({ kind: fc.constant('leave' as const), pick: fc.nat() }),
  fc.record({ kind: fc.constant('give up' as const), pick: fc.nat() }),
);

/** Runs pending microtasks. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('CallSlots', () => {
  it('never exceeds the limit, and leaves no slot free while a call is queued', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(event, { maxLength: 60 }), async (max, events) => {
        const slots = new CallSlots({ maxConcurrent: max, maxQueued: 1000 });
        const inside: (() => void)[] = [];
        const waiting = new Set<AbortController>();
        const come = (rollout: string): void => {
          const leave = slots.tryEnter();
          if (leave !== null) return void inside.push(leave);
          const gone = new AbortController();
          waiting.add(gone);
          const entered = slots.wait(rollout, gone.signal).then((left) => void inside.push(left));
          void entered.catch(() => undefined).finally(() => waiting.delete(gone));
        };
        for (const happening of events) {
          if (happening.kind === 'come') come(happening.rollout);
          else if (happening.kind === 'leave') inside.splice(happening.pick % Math.max(1, inside.length), 1)[0]?.();
          else [...waiting][happening.pick % Math.max(1, waiting.size)]?.abort('gone');
          await settle();
          expect(inside.length).toBeLessThanOrEqual(max);
          expect([slots.inFlight, slots.queued]).toEqual([inside.length, waiting.size]);
          if (waiting.size > 0) expect(inside.length).toBe(max);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('is fair between rollouts, and keeps the order within one', async () => {
    const slots = new CallSlots({ maxConcurrent: 1, maxQueued: 100 });
    const leaveFirst = slots.tryEnter();
    const order: string[] = [];
    const calls = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map(async (name) => {
      const leave = await slots.wait(name.slice(0, 1), forever);
      order.push(name);
      leave();
    });
    leaveFirst?.();
    await Promise.all(calls);
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  });

  it('is full when the queue has reached its limit', () => {
    const slots = new CallSlots({ maxConcurrent: 1, maxQueued: 1 });
    slots.tryEnter();
    expect(slots.isFull).toBe(false);
    void slots.wait('a', forever);
    expect(slots.isFull).toBe(true);
  });

  it('is never full without a limit', () => {
    const slots = new CallSlots({ maxConcurrent: null, maxQueued: 0 });
    for (let call = 0; call < 1000; call += 1) expect(slots.tryEnter()).not.toBeNull();
    expect(slots.isFull).toBe(false);
  });
});
