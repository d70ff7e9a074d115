import { AgentLightningError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';

/**
 * Imports a package that only some parts need.
 *
 * @param name - the package, or one of its entry points
 * @param purpose - the part that needs it
 * @throws AgentLightningError CONFIG if it is not installed
 */
export async function importOptional<TModule>(name: string, purpose: string): Promise<TModule> {
  try {
    return (await import(name)) as TModule;
  } catch (error) {
    const [owner = name] = /^(?:@[^/]+\/)?[^/]+/.exec(name) ?? [];
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `${purpose} needs the package "${owner}", which cannot be imported: ${errorMessage(error)}`,
      remedy: `npm install ${owner}`,
      cause: error,
    });
  }
}
