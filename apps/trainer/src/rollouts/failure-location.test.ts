import { aSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { failureLocation } from './failure-location.ts';

const thrown = (stack: string, sequenceId = 1) =>
  aSpan({ name: 'agentlightning.exception', sequenceId, attributes: { 'exception.stacktrace': stack } });

const stack = [
  'SyntaxError: Unexpected token',
  '    at JSON.parse (<anonymous>)',
  '    at parse (/project/node_modules/zod/index.js:3:7)',
  '    at async answer (file:///project/src/my%20agent.ts?at=7:12:9)',
  '    at /project/main.ts:4:1',
].join('\n');

test('the location of a failure is the innermost position outside of packages', () => {
  expect(failureLocation([thrown(stack)])).toBe('/project/src/my agent.ts:12');
});

test('the last error counts, and files below the current directory are relative', () => {
  const last = `Error: no\n    at ${process.cwd()}/agent.ts:5:3`;
  expect(failureLocation([thrown(last, 2), thrown(stack, 1)])).toBe('agent.ts:5');
});

test('there is no location without a stack trace', () => {
  expect(failureLocation([aSpan({ name: 'agentlightning.exception', attributes: {} })])).toBeNull();
  expect(failureLocation([])).toBeNull();
});
