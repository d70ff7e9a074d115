/** An object without its absent and null fields. */
export type Present<TObject> = { readonly [TKey in keyof TObject]?: Exclude<TObject[TKey], null | undefined> };

/** Removes null and undefined fields, which are equivalent to absent fields on the wire. */
export function present<TObject extends object>(object: TObject): Present<TObject> {
  const entries = Object.entries(object).filter(([, value]) => value !== null && value !== undefined);
  // The type system cannot follow entries; the result has exactly the fields of Present.
  return Object.fromEntries(entries) as Present<TObject>;
}
