import { AgentLightningError } from '@agentlightning/core';
import { didYouMean } from '@agentlightning/core/settings';

/** The error for an unknown algorithm name. */
export function unknownRecipe(type: unknown, known: readonly string[]): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message:
      typeof type === 'string'
        ? `algorithm: there is no algorithm "${type}"${didYouMean(type, known)}`
        : `algorithm: type must be a name, not ${JSON.stringify(type)}`,
    remedy: `Use one of ${known.join(', ')}.`,
  });
}
