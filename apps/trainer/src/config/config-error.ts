import { AgentLightningError } from '@agentlightning/core';
import type { z } from 'zod';
import { nearestName } from './nearest-name.ts';

/**
 * The keys there are, by the path of the object that has them; that of the configuration itself is empty, and `*` at the
 * end of a path is any name.
 */
export type KnownKeys = Readonly<Record<string, readonly string[]>>;

/**
 * What is wrong with a configuration, in one error; a mistyped key is answered with the nearest right one.
 *
 * @param hintOf - says more of a key that is right elsewhere; null when there is nothing to say
 */
export function configError(
  issues: readonly z.core.$ZodIssue[],
  knownKeys: KnownKeys,
  hintOf: (key: string) => string | null = () => null,
): AgentLightningError {
  const lines = issues.map((issue) => {
    const where = issue.path.map(String).join('.');
    if (issue.code !== 'unrecognized_keys') return `${where || 'the configuration'}: ${issue.message}`;
    return issue.keys
      .map((key) => {
        const hint = where === '' ? hintOf(key) : null;
        return hint === null ? unknownKeyMessage(key, where, knownKeys) : `unknown key "${key}": ${hint}`;
      })
      .join('; ');
  });
  return new AgentLightningError({ code: 'CONFIG', message: lines.join('; '), details: { issues: lines } });
}

function unknownKeyMessage(key: string, where: string, knownKeys: KnownKeys): string {
  const full = where === '' ? key : `${where}.${key}`;
  const nearest = nearestName(key, knownKeys[where] ?? knownKeys[where.replace(/[^.]+$/, '*')] ?? []);
  return `unknown key "${full}"${nearest === null ? '' : `; did you mean "${nearest}"?`}`;
}
