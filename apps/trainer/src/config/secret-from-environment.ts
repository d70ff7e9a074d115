import { AgentLightningError } from '@agentlightning/core';
import { z } from 'zod';

/** Checks what names an environment variable: who writes the secret itself there must not find it in an error. */
export const variableName: z.ZodType<string> = z
  .string()
  .regex(/^[A-Za-z_]\w*$/, 'must be the name of an environment variable, not the key');

/** Which secret is wanted. */
export interface SecretRequest {
  /** The environment variable. */
  readonly name: string;
  /** Who names it, as it stands in a sentence: `the upstreams`. */
  readonly namedBy: string;
  /** How the variable is set: `NAME=… agl gateway …`. */
  readonly example: string;
}

/**
 * A secret that a configuration names and does not contain.
 *
 * @throws AgentLightningError CONFIG when the variable is not set
 */
export function secretFromEnvironment(environment: NodeJS.ProcessEnv, request: SecretRequest): string {
  const { name, namedBy, example } = request;
  const secret = environment[name];
  if (secret !== undefined && secret !== '') return secret;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `the environment variable ${name}, which ${namedBy} name, is not set`,
    remedy: `Set it: ${example}.`,
  });
}
