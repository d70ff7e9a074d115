import type { AgentLightningError } from '@agentlightning/core';
import { unsupportedFramework } from '@agentlightning/core/adapter';

/** From here on, an agent's runs are told of turn by turn. */
const oldestSupported = '0.14.0';

/**
 * Checks that the framework is one whose spans we know.
 *
 * @param version - as its package.json has it; null when it is not known, which passes
 * @throws AgentLightningError UNSUPPORTED_FRAMEWORK
 */
export function assertSupportedVersion(version: string | null): void {
  if (version === null || isSupported(version)) return;
  throw unsupported(`@openai/agents is here in version ${version}`);
}

/** The error that says what is here, what is supported, and what to do. */
export function unsupported(message: string): AgentLightningError {
  return unsupportedFramework(
    `${message}. Supported are @openai/agents from ${oldestSupported} on, before 1.0.`,
    "Install a supported version. For `modules`, pass what `import * as agents from '@openai/agents'` gives.",
  );
}

function isSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major === 0 && minor >= 14;
}
