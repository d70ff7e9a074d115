import { unsupportedFramework } from '@agentlightning/core/adapter';

/**
 * Checks that the AI SDK is one that has what this package needs: global telemetry integrations.
 *
 * @param version - as its package.json has it; null when it is not known, which passes
 * @throws AgentLightningError UNSUPPORTED_FRAMEWORK
 */
export function assertSupportedVersion(version: string | null): void {
  if (version === null || isSupported(version)) return;
  throw unsupportedFramework(
    `The AI SDK (ai) is installed in version ${version}; supported are 6 from 6.0.111 on, and 7.`,
    'npm install ai@7',
  );
}

function isSupported(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.+-]/).map(Number);
  // Version 8 is not known: it may tell other things under the same names.
  return major === 7 || (major === 6 && (minor > 0 || patch >= 111));
}
