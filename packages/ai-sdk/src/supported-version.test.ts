import { AgentLightningError } from '@agentlightning/core';
import { describe, expect, test } from 'vitest';
import { assertSupportedVersion } from './supported-version.ts';

describe('the version of the AI SDK', () => {
  test.for(['6.0.111', '6.0.326', '6.1.0', '7.0.0', '7.0.173', '7.0.0-beta.3'])('%s is supported', (version) => {
    assertSupportedVersion(version);
  });

  test.for(['4.3.19', '5.0.277', '6.0.110', '8.0.0', 'nightly'])(
    '%s is rejected with the supported versions',
    (version) => {
      let thrown: unknown;
      try {
        assertSupportedVersion(version);
      } catch (error) {
        thrown = error;
      }
      expect(AgentLightningError.isInstance(thrown) && thrown.code).toBe('UNSUPPORTED_FRAMEWORK');
      expect(String(thrown)).toContain(version);
      expect(String(thrown)).toContain('6.0.111');
    },
  );

  test('an unknown version is accepted', () => {
    assertSupportedVersion(null);
  });
});
