import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SendWindow } from './send-window.ts';

it('sends all operations, within the window after the oldest unacknowledged one', async () => {
  const scenario = fc.record({
    width: fc.integer({ min: 1, max: 5 }),
    count: fc.integer({ min: 1, max: 20 }),
    picks: fc.array(fc.nat(), { minLength: 1, maxLength: 20 }),
  });
  await fc.assert(
    fc.asyncProperty(scenario, async ({ width, count, picks }) => {
      const window = new SendWindow(width);
      const sent: number[] = [];
      const unacknowledged = new Set(Array.from({ length: count }, (_, at) => at + 1));
      for (const seq of [...unacknowledged]) void window.enter(seq).then(() => sent.push(seq));
      for (let turn = 0; unacknowledged.size > 0; turn += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        const oldest = Math.min(...unacknowledged);
        const open = sent.filter((seq) => unacknowledged.has(seq));
        expect(Math.max(...open)).toBeLessThan(oldest + width);
        // Responses arrive in any order.
        const acknowledged = open[(picks[turn % picks.length] ?? 0) % open.length] ?? 0;
        unacknowledged.delete(acknowledged);
        window.leave(acknowledged);
      }
      expect(sent.toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, at) => at + 1));
    }),
  );
});
