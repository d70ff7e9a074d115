import { expect, test } from 'vitest';
import { overlapText } from './run-shape.ts';

test('held-out tasks that are trained on, or that select the checkpoint, are counted by value', () => {
  const train = [{ a: 1, b: 2 }, { a: 2 }];
  expect(overlapText({ train, heldOut: [{ b: 2, a: 1 }, { a: 3 }], validation: null })).toBe(
    '1 of 2 test tasks are training tasks',
  );
  expect(overlapText({ train, heldOut: [{ a: 3 }], validation: [{ a: 3 }, { a: 2 }] })).toBe(
    '1 of 2 validation tasks are training tasks and 1 of 1 test tasks are validation tasks',
  );
  expect(overlapText({ train, heldOut: [{ a: 3 }], validation: null })).toBeNull();
});
