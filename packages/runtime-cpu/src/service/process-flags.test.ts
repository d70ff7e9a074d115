import { expect, test } from 'vitest';
import { readProcessFlags } from './process-flags.ts';

test('times are told in whole milliseconds, and 0 only where it means for ever', () => {
  expect(readProcessFlags(['--session-ttl-ms', '500', '--abandoned-model-ttl-ms', '0'])).toMatchObject({
    sessionTtlMs: 500,
    abandonedModelTtlMs: 0,
  });
  expect(() => readProcessFlags(['--session-ttl-ms', '0'])).toThrow('--session-ttl-ms is "0"');
  for (const text of ['-1', '1.5', 'long', '', ' ']) {
    expect(() => readProcessFlags([`--abandoned-model-ttl-ms=${text}`])).toThrow('--abandoned-model-ttl-ms is');
  }
});
