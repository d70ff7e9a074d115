import { parseArgs } from 'node:util';

/** A default: a list allows a flag several times; null stands for an optional text. */
type FlagDefault = number | string | boolean | readonly string[] | null;

type FlagValue<TDefault extends FlagDefault> = TDefault extends number
  ? number
  : TDefault extends boolean
    ? boolean
    : TDefault extends readonly string[]
      ? readonly string[]
      : TDefault extends string
        ? string
        : string | null;

/** The values of flags by name. */
export type Flags<TDefaults extends Readonly<Record<string, FlagDefault>>> = {
  readonly [TName in keyof TDefaults]: FlagValue<TDefaults[TName]>;
};

/**
 * Parses the flags of a benchmark. The type of a default is that of the flag.
 *
 * @throws for an unknown flag, and for a number that is not finite or is negative
 */
export function parseFlags<const TDefaults extends Readonly<Record<string, FlagDefault>>>(
  defaults: TDefaults,
): Flags<TDefaults> {
  const options = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [
      name,
      { type: typeof value === 'boolean' ? 'boolean' : 'string', multiple: Array.isArray(value) } as const,
    ]),
  );
  const { values } = parseArgs({ options });
  const parsed = Object.entries(defaults).map(([name, value]) => {
    const given = values[name];
    return [name, given === undefined ? value : typeof value === 'number' ? numberOf(name, String(given)) : given];
  });
  return Object.fromEntries(parsed) as Flags<TDefaults>;
}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (text !== '' && Number.isFinite(value) && value >= 0) return value;
  throw new RangeError(`invalid --${name}: ${JSON.stringify(text)}. Give a number from 0.`);
}
