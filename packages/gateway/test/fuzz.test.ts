import { describe, expect, it } from 'vitest';
import { runFuzz } from './chaos/run-fuzz.ts';

// `pnpm chaos gateway` sends ten thousand.
describe('malformed requests', () => {
  it.each([
    ['a working model', false],
    ['a faulty model', true],
  ])(
    'cause no internal error, no hang and no leak in front of %s',
    async (_, isUpstreamOdd) => {
      const { findings, openSockets, statuses } = await runFuzz({ requests: 250, seed: 1, isUpstreamOdd });
      expect(findings).toEqual([]);
      expect(openSockets).toBe(0);
      expect(statuses[200]).toBeGreaterThan(10);
    },
    120_000,
  );
});
