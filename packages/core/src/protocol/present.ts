/** An object whose absent and null fields are left out. */
export type Present<TObject> = { readonly [TKey in keyof TObject]?: Exclude<TObject[TKey], null | undefined> };

/** The object without its fields that are null or undefined: on the wire, both mean that nothing is said. */
export function present<TObject extends object>(object: TObject): Present<TObject> {
  const entries = Object.entries(object).filter(([, value]) => value !== null && value !== undefined);
  // The type system cannot follow entries; what is left has exactly the fields of Present.
  return Object.fromEntries(entries) as Present<TObject>;
}
