import type { StreamTap } from './tap-stream.ts';

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

/** Options of {@link tapGenerator}. */
export interface GeneratorTap<TValue> extends StreamTap<TValue> {
  /** Whether a value is only for the tap and not returned to the reader. @default none */
  readonly isHidden?: (value: TValue) => boolean;
}

/**
 * The same generator, with its values reported to a tap. Other methods of the generator's object are preserved.
 *
 * @example
 * ```ts
 * const messages = tapGenerator(sdk.query(input), { take: record, failed: fail, cancelled: end, ended: end });
 * ```
 */
export function tapGenerator<TValue, TGenerator extends AsyncGenerator<TValue, unknown, undefined>>(
  generator: TGenerator,
  { take, failed, cancelled, ended, isHidden = () => false }: GeneratorTap<TValue>,
): TGenerator {
  const next = async (): Promise<IteratorResult<TValue, unknown>> => {
    for (;;) {
      const result = await generator.next().catch((error: unknown) => {
        failed(error);
        throw error;
      });
      if (result.done === true) {
        ended();
        return result;
      }
      take(result.value);
      if (!isHidden(result.value)) return result;
    }
  };
  const leave = (value: unknown): Promise<IteratorResult<TValue, unknown>> => {
    cancelled();
    return generator.return(value);
  };
  const tapped: TGenerator = withMembers(generator, { next, return: leave, [Symbol.asyncIterator]: () => tapped });
  return tapped;
}
