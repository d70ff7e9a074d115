import { AgentLightningError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';

/** The failure of an environment: a failure of the infrastructure, which never becomes a reward. */
export function environmentFailure(
  environment: string,
  operation: string,
  { cause, output = '' }: { readonly cause: unknown; readonly output?: string },
): AgentLightningError {
  if (AgentLightningError.isInstance(cause) && keptCodes.has(cause.code)) return cause;
  const shown = output.trim() === '' ? '' : `. Its last output: ${output.trim()}`;
  return new AgentLightningError({
    code: 'ENVIRONMENT_FAILED',
    message: `Environment "${environment}" failed in ${operation}: ${errorMessage(cause)}${shown}`,
    cause,
  });
}

/** Errors that are already precise: another failure of an environment, and mistakes in its definition. */
const keptCodes: ReadonlySet<string> = new Set(['ENVIRONMENT_FAILED', 'CONFIG']);
