import { expect, test } from 'vitest';
import { openEnvironment } from '../src/index.ts';

test.each(['', 'localhost:8000', 'ftp://example.com'])('the address %o is refused', (url) => {
  expect(() => openEnvironment({ url })).toThrow(/\[CONFIG\] `url` of `openEnvironment`/);
});
