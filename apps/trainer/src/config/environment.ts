import { AgentLightningError } from '@agentlightning/core';
import { z } from 'zod';

/** Validates the name of an environment variable. The error does not repeat the value, which may be the secret itself. */
export const variableName: z.ZodType<string> = z
  .string()
  .regex(/^[A-Za-z_]\w*$/, 'must be the name of an environment variable, not the key');

/** Request for a secret. */
export interface SecretRequest {
  /** The environment variable. */
  readonly name: string;
  /** The setting that names it, for the error message: `the upstreams`. */
  readonly namedBy: string;
  /** Example command that sets the variable: `NAME=… agl gateway …`. */
  readonly example: string;
}

/**
 * Reads a secret from the environment variable named in a configuration.
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

/** Default store of commands: that of a configuration in the current folder. */
export const defaultStoreUrl = 'sqlite:.agl/agl.db';

/** The environment variables of this process, to which configurations refer. */
export function environmentVariables(): NodeJS.ProcessEnv {
  return process.env;
}

/** Whether `AGL_ALLOW_INSECURE_KEYS` allows keys over plain `http:` to other machines. */
export function areInsecureKeysAllowed(): boolean {
  return ['1', 'true'].includes(process.env['AGL_ALLOW_INSECURE_KEYS'] ?? '');
}
