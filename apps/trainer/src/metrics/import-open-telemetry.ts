import { AgentLightningError } from '@agentlightning/core';

/**
 * Imports `@agentlightning/otel` or a part of it, which brings the SDK of OpenTelemetry, and is installed only where it is used.
 *
 * @param load - the import
 * @param purpose - what needs it, as the subject of an error
 * @throws AgentLightningError CONFIG that names the package when it is not installed
 */
export async function importOpenTelemetry<TModule>(load: () => Promise<TModule>, purpose: string): Promise<TModule> {
  try {
    return await load();
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND')) throw cause;
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `${purpose} needs @agentlightning/otel, which is not installed`,
      remedy: 'Install it: npm install @agentlightning/otel.',
      cause,
    });
  }
}
