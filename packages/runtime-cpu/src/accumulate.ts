/** Adds `addend` to `target`, element by element. They have the same length. */
export function accumulate(target: Float32Array, addend: Float32Array): void {
  // An index loop on purpose: over the entries of an array it is ten times slower.
  for (let i = 0; i < target.length; i++) target[i] = (target[i] as number) + (addend[i] as number);
}
