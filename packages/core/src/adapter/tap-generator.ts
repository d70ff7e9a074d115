import type { StreamTap } from './tap-stream.ts';
import { withMembers } from './with-members.ts';

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
