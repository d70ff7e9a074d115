import { describe, expect, test } from 'vitest';
import { installedVersion, unsupportedFramework } from './framework-version.ts';

describe('the version of a framework', () => {
  test('is that of the package beside the module', () => {
    expect(installedVersion('zod', import.meta.url)).toMatch(/^4\./);
  });

  test('is not known where the package is not installed, or the module is nowhere', () => {
    expect(installedVersion('@agentlightning/nowhere', import.meta.url)).toBeNull();
    expect(installedVersion('zod', 'nowhere')).toBeNull();
  });

  test('that is not supported is an error which says what to do', () => {
    const error = unsupportedFramework('Found version 1.', 'Install version 2.');
    expect([error.code, error.remedy]).toEqual(['UNSUPPORTED_FRAMEWORK', 'Install version 2.']);
  });
});
