/** Makes a value and everything in it unchangeable, so that a test fails where something is written to. */
export function deepFreeze<TValue>(value: TValue): TValue {
  // Typed arrays with elements cannot be frozen.
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
