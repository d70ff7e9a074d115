import { describe, expect, test } from 'vitest';
import { installedVersion, unsupportedFramework } from './framework-version.ts';

describe('framework version', () => {
  test('is the version of the package installed next to the module', () => {
    expect(installedVersion('zod', import.meta.url)).toMatch(/^4\./);
  });

  test('is unknown when the package is not installed or the module has no path', () => {
    expect(installedVersion('@agentlightning/nowhere', import.meta.url)).toBeNull();
    expect(installedVersion('zod', 'nowhere')).toBeNull();
  });

  test('an unsupported version is an error with a remedy', () => {
    const error = unsupportedFramework('Found version 1.', 'Install version 2.');
    expect([error.code, error.remedy]).toEqual(['UNSUPPORTED_FRAMEWORK', 'Install version 2.']);
  });
});
