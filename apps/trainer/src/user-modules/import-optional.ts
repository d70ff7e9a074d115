import { AgentLightningError } from '@agentlightning/core';

/**
 * Imports a package, or a part of it, that is installed only where it is used.
 *
 * @param name - the package
 * @param purpose - what needs it, as the subject of an error
 * @param load - the import
 * @throws AgentLightningError CONFIG that names the package when it is not installed
 */
export async function importOptional<TModule>(
  name: string,
  purpose: string,
  load: () => Promise<TModule>,
): Promise<TModule> {
  try {
    return await load();
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND')) throw cause;
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `${purpose} needs ${name}, which is not installed`,
      remedy: `Install it: npm install ${name}.`,
      cause,
    });
  }
}
