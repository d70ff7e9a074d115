import { expect, test } from 'vitest';
import { overlapText } from './run-shape.ts';

test('held-out tasks that are trained on, or that select the checkpoint, are counted by value', () => {
  const train = [{ a: 1, b: 2 }, { a: 2 }];
  expect(overlapText({ train, heldOut: [{ b: 2, a: 1 }, { a: 3 }], validation: null, guards: {} })).toBe(
    '1 of 2 test tasks are training tasks',
  );
  expect(overlapText({ train, heldOut: [{ a: 3 }], validation: [{ a: 3 }, { a: 2 }], guards: {} })).toBe(
    '1 of 2 validation tasks are training tasks and 1 of 1 test tasks are validation tasks',
  );
  expect(overlapText({ train, heldOut: [{ a: 3 }], validation: null, guards: {} })).toBeNull();
});

test('white space and the numbers of tasks do not hide an overlap, unless the number is the task', () => {
  const text = (question: string, id: number | string) => ({ question, id });
  const train = [text('How many bolts?', 1), text('How many nuts?', 2)];
  const heldOut = [text(' How  many bolts?\n', 7), text('How many washers?', 8)];
  expect(overlapText({ train, heldOut, validation: null, guards: {} })).toBe('1 of 2 test tasks are training tasks');
  const numbered = [text('Solve the puzzle.', 'a'), text('Solve the puzzle.', 'b')];
  expect(
    overlapText({ train: numbered, heldOut: [text('Solve the puzzle.', 'c')], validation: null, guards: {} }),
  ).toBeNull();
  expect(overlapText({ train: [{ id: 1 }], heldOut: [{ id: 2 }, { id: 1 }], validation: null, guards: {} })).toBe(
    '1 of 2 test tasks are training tasks',
  );
});
