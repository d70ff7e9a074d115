import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openStore, type SqlStore } from '@agentlightning/store';
import { expect, test } from 'vitest';
import { smallTrainer, trainSmall } from './small-trainer.ts';

/** Operations whose number of calls depends on the duration of a step. */
const periodic = new Set(['waitForRollouts', 'claimRollouts', 'updateWorker', 'getWorker', 'close']);

/** Calls `count` with the size of the results of the store's operations, in characters of JSON. */
function counting(store: SqlStore, count: (operation: string, characters: number) => void): SqlStore {
  return new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...parameters: readonly unknown[]): unknown => {
        const result: unknown = Reflect.apply(member, target, parameters);
        if (!(result instanceof Promise)) return result;
        return result.then((value: unknown) => {
          count(String(name), JSON.stringify(value ?? null).length);
          return value;
        });
      };
    },
  });
}

test('a step reads as much from the store in a long run as in a short one', { timeout: 180_000 }, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'agl-scale-'));
  const store = await openStore(':memory:');
  const steps: { calls: number; characters: number }[] = [{ calls: 0, characters: 0 }];
  const counted = counting(store, (operation, characters) => {
    const step = steps.at(-1);
    if (step === undefined || periodic.has(operation)) return;
    step.calls += 1;
    step.characters += characters;
  });
  const trainer = smallTrainer(folder, { steps: 12, evaluation: { tasks: 2 } });
  const { error } = await trainSmall(trainer, {
    store: counted,
    onEvent: ({ type }) => {
      if (type === 'stepped') steps.push({ calls: 0, characters: 0 });
    },
  });
  expect(error).toBe(null);
  const total = (part: typeof steps, of: 'calls' | 'characters'): number =>
    part.reduce((sum, step) => sum + step[of], 0);
  // The first step includes the start of the run, and the last one its end.
  const [early, late] = [steps.slice(1, 5), steps.slice(7, 11)];
  expect(total(late, 'calls')).toBeLessThanOrEqual(1.1 * total(early, 'calls'));
  expect(total(late, 'characters')).toBeLessThanOrEqual(1.2 * total(early, 'characters'));
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});
