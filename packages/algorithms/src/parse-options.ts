import { AgentLightningError } from '@agentlightning/core';
import type { z } from 'zod';

/** What {@link parseOptions} says when something is wrong. */
export interface OptionsDescription {
  /** What the options are of, as the start of the message: `algorithm grpo`. */
  readonly what: string;
  /** The keys there are, for whoever mistyped one. */
  readonly keys: readonly string[];
}

/**
 * Checks options and gives them back.
 *
 * @throws AgentLightningError with code `CONFIG` that names every wrong key, with the value it has
 */
export function parseOptions<TOptions>(
  schema: z.ZodType<TOptions>,
  options: unknown,
  { what, keys }: OptionsDescription,
): TOptions {
  const result = schema.safeParse(options);
  if (result.success) return result.data;
  const issues = result.error.issues.map((issue) => {
    if (issue.code === 'unrecognized_keys' && issue.path.length === 0) {
      const unknown = issue.keys.map((key) => `"${key}"`).join(', ');
      return `there is no option ${unknown}; there are ${keys.join(', ')}`;
    }
    const path = issue.path.map(String).join('.');
    const given = JSON.stringify(valueAt(options, issue.path));
    return `${path === '' ? '' : `${path}: `}${issue.message}${given === undefined ? '' : `, not ${given}`}`;
  });
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `${what}: ${issues.join('; ')}`,
    cause: result.error,
    details: { issues },
  });
}

function valueAt(options: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    options,
  );
}
