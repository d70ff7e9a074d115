import type { AgentLightningError } from '@agentlightning/core';
import { unsupportedFramework } from '@agentlightning/core/adapter';

/** The first version that reports turns. */
const oldestSupported = '0.14.0';

/**
 * Checks that the spans of this framework version are known.
 *
 * @param version - from its package.json; null if unknown, which passes
 * @throws AgentLightningError UNSUPPORTED_FRAMEWORK
 */
export function assertSupportedVersion(version: string | null): void {
  if (version === null || isSupported(version)) return;
  throw unsupported(`Unsupported version of @openai/agents: ${version}`);
}

/** An error with the reason, the supported versions and the remedy. */
export function unsupported(message: string): AgentLightningError {
  return unsupportedFramework(
    `${message}. Supported are @openai/agents from ${oldestSupported} on, before 1.0.`,
    "Install a supported version. For `modules`, pass the result of `import * as agents from '@openai/agents'`.",
  );
}

function isSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major === 0 && minor >= 14;
}
