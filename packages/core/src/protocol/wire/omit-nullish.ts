/** An object without its absent and null fields. */
type WithoutNullish<TObject> = { readonly [TKey in keyof TObject]?: Exclude<TObject[TKey], null | undefined> };

/** Removes null and undefined fields, which are equivalent to absent fields on the wire. */
export function omitNullish<TObject extends object>(object: TObject): WithoutNullish<TObject> {
  const entries = Object.entries(object).filter(([, value]) => value !== null && value !== undefined);
  // The type system cannot follow entries; the result has exactly the fields of the object that are set.
  return Object.fromEntries(entries) as WithoutNullish<TObject>;
}
