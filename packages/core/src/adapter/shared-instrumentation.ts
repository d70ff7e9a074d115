/** What is in force, and how many asked for it. */
interface Instrumentation {
  users: number;
  readonly undos: readonly (() => void)[];
}

/** What instruments a framework: adds what undoes each of its parts to `undos`. */
export type Instrument<TOptions> = (options: TOptions, undos: (() => void)[]) => void;

/**
 * Makes what instruments a framework once in a process for all who ask for it, even when two copies of the adapter are
 * loaded: the options of the first count, and the last undo undoes it.
 *
 * @param name - the adapter's: `langchain`
 * @param instrument - does it; where it throws, its parts so far are undone
 * @returns does it, where it is not in force, and gives what undoes it, which is safe more than once
 *
 * @example
 * ```ts
 * const instrument = sharedInstrumentation<Options>('langchain', (options, undos) => {
 *   undos.push(patchMethod(Model.prototype, 'ask', (original) => recorded(original, options)));
 * });
 * ```
 */
export function sharedInstrumentation<TOptions>(
  name: string,
  instrument: Instrument<TOptions>,
): (options: TOptions) => () => void {
  const key = Symbol.for(`agentlightning.instrumentation.${name}`);
  const holder = globalThis as { [key]?: Instrumentation };
  return (options) => {
    holder[key] ??= { users: 0, undos: done(options, instrument) };
    const instrumentation = holder[key];
    instrumentation.users += 1;
    let isUser = true;
    return () => {
      if (!isUser) return;
      isUser = false;
      instrumentation.users -= 1;
      if (instrumentation.users > 0) return;
      delete holder[key];
      undoAll(instrumentation.undos);
    };
  };
}

function done<TOptions>(options: TOptions, instrument: Instrument<TOptions>): readonly (() => void)[] {
  const undos: (() => void)[] = [];
  try {
    instrument(options, undos);
  } catch (error) {
    undoAll(undos);
    throw error;
  }
  return undos;
}

function undoAll(undos: readonly (() => void)[]): void {
  for (const undo of undos.toReversed()) undo();
}
