/** Names of what is for nobody's eyes. A `token` is, `maxTokens` are not; where the name of a variable belongs may be a key. */
const secretName = /key|secret|pass(word|wd|phrase)|credential|authorization|cookie|token$|env$/i;

/** Whether a field of this name is for nobody's eyes. */
export function isSecret(name: PropertyKey | undefined): boolean {
  return typeof name === 'string' && secretName.test(name);
}
