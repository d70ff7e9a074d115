import { AgentLightningError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';

/**
 * Imports a package that only some parts need.
 *
 * @param name - the package, or one of its entry points
 * @param purpose - the part that needs it
 * @param load - the import, so that tools find it
 * @throws AgentLightningError CONFIG if it is not installed
 */
export async function importOptional<TModule>(
  name: string,
  purpose: string,
  load: () => Promise<unknown> = () => import(name),
): Promise<TModule> {
  try {
    return (await load()) as TModule;
  } catch (error) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `${purpose} needs the package "${name}", which cannot be imported: ${errorMessage(error)}`,
      remedy: `npm install ${name}`,
      cause: error,
    });
  }
}
