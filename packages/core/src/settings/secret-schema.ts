import { z } from 'zod';
import { type Environment, readSecret, type Secret, secretText } from '../base/secret.ts';

/** Validates the form of a secret. The error does not repeat the value, which may be the secret itself. */
export const secretFormSchema: z.ZodType<Secret> = z.union(
  [
    z.string(),
    z.strictObject({
      env: z.string().regex(/^[A-Za-z_]\w*$/, 'must be the name of an environment variable, not the key'),
    }),
  ],
  { error: "must be a text or env('NAME')" },
);

/** Reads a secret from settings. The error names the variable, never the value. */
export function secretSchema(environment: Environment): z.ZodType<string> {
  return secretFormSchema.transform((secret, context) => {
    if (typeof secret === 'string') return secret;
    const value = readSecret(secret, environment);
    if (value !== null) return value;
    context.addIssue({ code: 'custom', message: `${secretText(secret)} is not set`, input: secret.env });
    return z.NEVER;
  });
}
