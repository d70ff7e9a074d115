/**
 * The same object with some members replaced. Its other methods run on the object itself, which may have private fields.
 *
 * @example
 * ```ts
 * const traced = withMembers(model, { doGenerate: (options) => recorded(options, () => model.doGenerate(options)) });
 * ```
 */
export function withMembers<TTarget extends object>(
  target: TTarget,
  members: Readonly<Partial<Record<PropertyKey, unknown>>>,
): TTarget {
  return new Proxy(target, {
    get(_, name) {
      if (Object.hasOwn(members, name)) return members[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
