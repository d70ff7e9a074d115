/** Values of the URL's search part, before validation. */
export type SearchValues = Readonly<Record<string, unknown>>;

/** A text of the search part; undefined for other values. The router reads `7` as a number. */
export function textValue(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A number of the search part; undefined for other values. */
export function numberValue(value: unknown): number | undefined {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** One of some texts; undefined for other values. */
export function choiceValue<TChoice extends string>(choices: readonly TChoice[], value: unknown): TChoice | undefined {
  return choices.find((choice) => choice === value);
}

/** The values without those that are undefined, which would appear in the URL. */
export function definedValues<TValues extends object>(values: TValues): TValues {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as TValues;
}
