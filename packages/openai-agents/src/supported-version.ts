import { AgentLightningError } from '@agentlightning/core';
import { oldestSupported } from './framework.ts';

/**
 * Checks that the framework is one whose spans we know.
 *
 * @param version - as its package.json has it; null when it is not known, which passes
 * @throws AgentLightningError UNSUPPORTED_FRAMEWORK
 */
export function assertSupportedVersion(version: string | null): void {
  if (version === null || isSupported(version)) return;
  throw new AgentLightningError({
    code: 'UNSUPPORTED_FRAMEWORK',
    message: `@openai/agents is here in version ${version}. Supported are ${oldestSupported} and later, before 1.0.`,
    remedy: 'Install a supported version: npm install @openai/agents@latest.',
    details: { version },
  });
}

function isSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [, oldestMinor = 0] = oldestSupported.split('.').map(Number);
  return major === 0 && minor >= oldestMinor;
}
