import { unsupportedFramework } from '@agentlightning/core/adapter';

/**
 * Checks that this version of the AI SDK has global telemetry integrations.
 *
 * @param version - from its package.json; null if unknown, which passes
 * @throws AgentLightningError UNSUPPORTED_FRAMEWORK
 */
export function assertSupportedVersion(version: string | null): void {
  if (version === null || isSupported(version)) return;
  throw unsupportedFramework(
    `Unsupported version of the AI SDK (ai): ${version}. Supported are 6 from 6.0.111 on, and 7.`,
    'npm install ai@7',
  );
}

function isSupported(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.+-]/).map(Number);
  // Version 8 is unknown: its events may differ.
  return major === 7 || (major === 6 && (minor > 0 || patch >= 111));
}
