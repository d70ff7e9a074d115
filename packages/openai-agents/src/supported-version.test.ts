import { expect, test } from 'vitest';
import { installedVersion } from './loaded-copies.ts';
import { assertSupportedVersion } from './supported-version.ts';

test.for(['0.14.0', '0.14.3', '0.20.0', '0.99.1', null])('version %s is supported', (version) => {
  expect(() => assertSupportedVersion(version)).not.toThrow();
});

test.for(['0.0.17', '0.13.5', '1.0.0'])('version %s is rejected with the supported versions', (version) => {
  expect(() => assertSupportedVersion(version)).toThrow(new RegExp(`UNSUPPORTED_FRAMEWORK.*${version}.*0\\.14\\.0`));
});

test('the installed version is found', () => {
  expect(installedVersion()).toMatch(/^0\.20\./);
});
