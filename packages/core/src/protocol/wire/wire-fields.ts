import * as z from 'zod';

type Absent = null | undefined;

/** The fields of a wire object by their domain name: the name on the wire and the schema of the value. */
export type WireFields<TObject> = {
  readonly [TName in keyof TObject]-?: readonly [
    name: string,
    schema: z.ZodType<Absent & TObject[TName] extends never ? TObject[TName] : TObject[TName] | Absent>,
  ];
};

/** Converts milliseconds to the seconds of the store protocol, for times and durations. */
export function secondsFromMs(timeMs: number): number {
  return timeMs / 1000;
}

/** Converts seconds to milliseconds, rounded to microseconds, the precision of a float of Unix seconds. */
export function msFromSeconds(seconds: number): number {
  // Computed in two parts, which avoids a second rounding in the multiplication.
  const whole = Math.trunc(seconds);
  const microseconds = whole * 1_000_000 + Math.round((seconds - whole) * 1_000_000);
  return microseconds / 1000;
}

/** Time or duration: seconds on the wire, milliseconds in the domain. */
export const seconds: z.ZodType<number> = secondsOf(z.number());

/** {@link seconds} within a range that is stated in seconds. */
export function secondsOf(schema: z.ZodType<number>): z.ZodType<number> {
  return z.codec(schema, z.custom<number>(), { decode: msFromSeconds, encode: secondsFromMs });
}

/** Codec of a record, whose absent fields are null. */
export function recordCodec<TObject extends object>(fields: WireFields<TObject>): z.ZodType<TObject> {
  const all = fieldList(fields);
  return z.codec(wireObject(all), z.custom<TObject>(), {
    decode: (wire) => {
      const record: Record<string, unknown> = {};
      for (const { name, wireName } of all) record[name] = wire[wireName] ?? null;
      return record as TObject;
    },
    encode: (record) => renamed(all, record),
  });
}

/** Codec of options: null on the wire is equivalent to an absent field, and undefined to an empty object. */
export function optionsCodec<TObject extends object>(fields: WireFields<TObject>): z.ZodType<TObject> {
  const all = fieldList(fields);
  return z.codec(wireObject(all), z.custom<TObject>(), {
    decode: (wire) => {
      const options: Record<string, unknown> = {};
      for (const { name, wireName } of all) {
        const value = wire[wireName];
        if (value !== undefined && value !== null) options[name] = value;
      }
      return options as TObject;
    },
    encode: (options) => renamed(all, options),
  });
}

/** Codec of a value that is the only field of its wire object. */
export function fieldCodec<TValue>(name: string, schema: z.ZodType<TValue>): z.ZodType<TValue> {
  return z.codec(z.object({ [name]: schema }), z.custom<TValue>(), {
    decode: (wire) => wire[name] as TValue,
    encode: (value) => ({ [name]: value }),
  });
}

interface WireField {
  readonly name: string;
  readonly wireName: string;
  readonly schema: z.ZodType;
}

function fieldList(fields: Readonly<Record<string, readonly [string, z.ZodType]>>): readonly WireField[] {
  return Object.entries(fields).map(([name, [wireName, schema]]) => ({ name, wireName, schema }));
}

function wireObject(fields: readonly WireField[]): z.ZodObject<Record<string, z.ZodType>> {
  return z.object(Object.fromEntries(fields.map(({ wireName, schema }) => [wireName, schema])));
}

function renamed(fields: readonly WireField[], object: object | undefined): Record<string, unknown> {
  const values = (object ?? {}) as Readonly<Record<string, unknown>>;
  const wire: Record<string, unknown> = {};
  for (const { name, wireName } of fields) {
    const value = values[name];
    if (value !== undefined) wire[wireName] = value;
  }
  return wire;
}
