/** Freezes a value recursively, so that a test fails on mutation. */
export function deepFreeze<TValue>(value: TValue): TValue {
  // Typed arrays with elements cannot be frozen.
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
