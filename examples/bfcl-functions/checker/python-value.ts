/** A number that was written with a fraction or an exponent: a `float` in Python. */
export class Float {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** A JSON value as Python reads it. */
export type PythonValue =
  | string
  | number
  | boolean
  | null
  | Float
  | readonly PythonValue[]
  | { readonly [key: string]: PythonValue };

/** The name of a value's type in Python. */
export type PythonType = 'str' | 'int' | 'float' | 'bool' | 'list' | 'dict' | 'NoneType';

/**
 * Parses JSON, and keeps the difference between integers and floats.
 *
 * @throws SyntaxError
 */
export function parsePython(json: string): PythonValue {
  return JSON.parse(json, (_key, value: PythonValue, context?: { readonly source?: string }) =>
    typeof value === 'number' && /[.eE]/.test(context?.source ?? '') ? new Float(value) : value,
  );
}

/** The type of a value in Python. */
export function pythonType(value: PythonValue): PythonType {
  if (value === null) return 'NoneType';
  if (value instanceof Float) return 'float';
  if (Array.isArray(value)) return 'list';
  switch (typeof value) {
    case 'string':
      return 'str';
    case 'number':
      return 'int';
    case 'boolean':
      return 'bool';
    default:
      return 'dict';
  }
}

/** Whether two values are equal in Python: numbers by value, `True` is 1. */
export function pythonEquals(left: PythonValue, right: PythonValue): boolean {
  const [one, other] = [numberOf(left), numberOf(right)];
  if (one !== null || other !== null) return one === other;
  if (isList(left) && isList(right)) {
    return left.length === right.length && left.every((item, index) => pythonEquals(item, right[index] ?? null));
  }
  if (isDict(left) && isDict(right)) {
    const keys = Object.keys(left);
    return (
      keys.length === Object.keys(right).length &&
      keys.every((key) => key in right && pythonEquals(left[key] ?? null, right[key] ?? null))
    );
  }
  return left === right;
}

/** Whether a value is a list. */
export function isList(value: PythonValue): value is readonly PythonValue[] {
  return Array.isArray(value);
}

/** Whether a value is a dictionary. */
export function isDict(value: PythonValue): value is { readonly [key: string]: PythonValue } {
  return pythonType(value) === 'dict';
}

function numberOf(value: PythonValue): number | null {
  if (value instanceof Float) return value.value;
  return typeof value === 'number' || typeof value === 'boolean' ? Number(value) : null;
}
