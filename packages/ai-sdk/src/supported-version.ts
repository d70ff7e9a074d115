import { AgentLightningError } from '@agentlightning/core';
import { fieldsOf } from '@agentlightning/core/adapter';

/**
 * Checks that the AI SDK is one that has what this package needs: global telemetry integrations.
 *
 * @param version - as its package.json has it; null when it is not known, which passes
 * @throws AgentLightningError UNSUPPORTED_FRAMEWORK
 */
export function assertSupportedVersion(version: string | null): void {
  if (version === null || isSupported(version)) return;
  throw new AgentLightningError({
    code: 'UNSUPPORTED_FRAMEWORK',
    message: `The AI SDK (ai) is installed in version ${version}; supported are 6 from 6.0.111 on, and 7.`,
    remedy: 'npm install ai@7',
  });
}

/** The version of the package `ai` that is installed beside this one; null where there is no way to tell. */
export function installedVersion(): string | null {
  try {
    const modules = globalThis.process?.getBuiltinModule?.('node:module');
    const { version } = fieldsOf(modules?.createRequire(import.meta.url)('ai/package.json'));
    return typeof version === 'string' ? version : null;
  } catch {
    // Bundled, on the edge, or not installed where this package is: events will tell, or there will be none.
    return null;
  }
}

function isSupported(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.+-]/).map(Number);
  // Version 8 is not known: it may tell other things under the same names.
  return major === 7 || (major === 6 && (minor > 0 || patch >= 111));
}
