import { expect, test } from 'vitest';
import { newId, newSpanId, newTraceId } from './id.ts';

test('ids have the prefix and length of the store protocol', () => {
  expect(newId('rollout')).toMatch(/^ro-[0-9a-f]{12}$/);
  expect(newId('attempt')).toMatch(/^at-[0-9a-f]{8}$/);
  expect(newId('resources')).toMatch(/^rs-[0-9a-f]{12}$/);
  expect(newId('run')).toMatch(/^run-[0-9a-f]{8}$/);
  expect(newId('worker')).toMatch(/^wk-[0-9a-f]{8}$/);
});

test('trace and span ids are those of OpenTelemetry', () => {
  expect(newTraceId()).toMatch(/^[0-9a-f]{32}$/);
  expect(newSpanId()).toMatch(/^[0-9a-f]{16}$/);
});

test('ids differ', () => {
  const ids = Array.from({ length: 1000 }, () => newId('rollout'));
  expect(new Set(ids).size).toBe(1000);
});
