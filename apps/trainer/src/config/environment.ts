import { secretSchema as secretFrom } from '@agentlightning/core/settings';
import type { z } from 'zod';

/** A secret of a configuration: its value, or the variable of this process that holds it. */
export const secretSchema: z.ZodType<string> = secretFrom(process.env);

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
