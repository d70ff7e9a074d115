/** A name alone selects the defaults. */
export function withType(algorithm: unknown): unknown {
  return typeof algorithm === 'string' ? { type: algorithm } : algorithm;
}
