import { AgentLightningError } from '@agentlightning/core';
import { didYouMean } from '@agentlightning/core/settings';

/** Says that nothing has the name that a configuration gives as its algorithm. */
export function unknownRecipe(type: unknown, known: readonly string[]): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message:
      typeof type === 'string'
        ? `algorithm: there is no algorithm "${type}"${didYouMean(type, known)}`
        : `algorithm: type must be a name, not ${JSON.stringify(type)}`,
    remedy: `Take one of ${known.join(', ')}.`,
  });
}
