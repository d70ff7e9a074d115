/** A check for values that must be an object with a method of this name. */
export function hasMethod(name: string): (value: unknown) => boolean {
  return (value) => typeof value === 'object' && value !== null && typeof Reflect.get(value, name) === 'function';
}
