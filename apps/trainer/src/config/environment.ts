import { AgentLightningError } from '@agentlightning/core';
import { z } from 'zod';

/** Validates the name of an environment variable. The error does not repeat the value, which may be the secret itself. */
export const variableName: z.ZodType<string> = z
  .string()
  .regex(/^[A-Za-z_]\w*$/, 'must be the name of an environment variable, not the key');

/** A secret in an environment variable; see {@link env}. */
export interface SecretVariable {
  /** The variable's name. */
  readonly env: string;
}

/**
 * Names the environment variable of a secret in a configuration. It is read when a command needs it, so that agents, which load the
 * same file, run without it. Its value is not recorded.
 *
 * @example
 * ```ts
 * const runtime = { type: 'tinker', baseUrl: 'https://tinker.example', model: 'Qwen/Qwen3-4B', apiKey: env('TINKER_API_KEY') };
 * ```
 */
export function env(name: string): SecretVariable {
  return { env: name };
}

/** A secret of a configuration: its value, or the variable that holds it. The error names the variable, never the value. */
export const secretSchema: z.ZodType<string> = z
  .union([z.string(), z.strictObject({ env: variableName })], { error: "must be a text or env('NAME')" })
  .transform((secret, context) => {
    if (typeof secret === 'string') return secret;
    const value = process.env[secret.env];
    if (value !== undefined && value !== '') return value;
    context.addIssue({
      code: 'custom',
      message: `the environment variable ${secret.env} is not set`,
      input: secret.env,
    });
    return z.NEVER;
  });

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
