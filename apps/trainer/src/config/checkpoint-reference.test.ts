import { expect, test } from 'vitest';
import { isCheckpointReference, parseCheckpointReference } from './checkpoint-reference.ts';

test.each([
  ['run-1@best', { runId: 'run-1', choice: 'best' }],
  ['run_2@latest', { runId: 'run_2', choice: 'latest' }],
  ['a@12', { runId: 'a', choice: '12' }],
])('%s is a reference', (text, parsed) => {
  expect(isCheckpointReference(text)).toBe(true);
  expect(parseCheckpointReference(text)).toEqual(parsed);
});

test.each(['run-1', '@best', 'run@', 'a@b@c', './a@b.json', ''])('"%s" is not a reference', (text) => {
  expect(isCheckpointReference(text)).toBe(false);
  expect(() => parseCheckpointReference(text)).toThrow(expect.objectContaining({ code: 'CONFIG' }));
});
