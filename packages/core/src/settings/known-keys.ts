import type { z } from 'zod';

/**
 * The permitted keys of an object within a value.
 *
 * @param schema - of the whole value
 * @param path - of the object within the value
 * @param value - the whole value, which selects the form of a union
 */
export function knownKeys(schema: z.core.$ZodType, path: readonly PropertyKey[], value: unknown): readonly string[] {
  return [...new Set(keysOf(schema, path, value))];
}

function keysOf(schema: z.core.$ZodType, path: readonly PropertyKey[], value: unknown): readonly string[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const [key, ...rest] = path;
  switch (def.type) {
    case 'object': {
      if (key === undefined) return Object.keys(def.shape);
      const inner = Object.hasOwn(def.shape, key) ? def.shape[String(key)] : undefined;
      return inner === undefined ? [] : keysOf(inner, rest, fieldOf(value, key));
    }
    case 'record':
      return key === undefined ? [] : keysOf(def.valueType, rest, fieldOf(value, key));
    case 'array':
      return key === undefined ? [] : keysOf(def.element, rest, fieldOf(value, key));
    case 'union':
      return formsOf(def.options, value).flatMap((form) => keysOf(form, path, value));
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly':
      return keysOf(def.innerType, path, value);
    case 'pipe':
      return keysOf(def.in, path, value);
    default:
      return [];
  }
}

/** The forms of a union that match the value's `type`, if it has one; otherwise all. */
function formsOf(options: readonly z.core.$ZodType[], value: unknown): readonly z.core.$ZodType[] {
  const type = fieldOf(value, 'type');
  const named = options.filter((option) => {
    const { def } = (option as z.core.$ZodTypes)._zod;
    const field = def.type === 'object' ? def.shape['type'] : undefined;
    return field?._zod.values?.has(type as z.core.util.Primitive) === true;
  });
  return named.length > 0 ? named : options;
}

/** A field of a value that can be an object; undefined without it. */
export function fieldOf(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}
