/**
 * Names of secrets. `token` matches, `maxTokens` does not; environment variable settings match because a key may be
 * given by mistake.
 */
const secretName = /key|secret|pass(word|wd|phrase)|credential|authorization|cookie|token$|env$/i;

/** Whether a field of this name is secret. */
export function isSecret(name: PropertyKey | undefined): boolean {
  return typeof name === 'string' && secretName.test(name);
}
