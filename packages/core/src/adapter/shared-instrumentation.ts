/** What is in force, and how many asked for it. */
interface Instrumentation {
  users: number;
  readonly undos: (() => void)[];
}

/**
 * Makes what instruments a framework once for all who ask for it: the options of the first count, and the last undo
 * undoes it.
 *
 * @param instrument - does it, and adds to `undos` what undoes each part; where it throws, those before are undone
 * @returns does it, where it is not in force, and gives what undoes it, which is safe more than once
 *
 * @example
 * ```ts
 * const instrument = sharedInstrumentation<Options>((options, undos) => {
 *   undos.push(patchMethod(Model.prototype, 'ask', (original) => recorded(original, options)));
 * });
 * ```
 */
export function sharedInstrumentation<TOptions>(
  instrument: (options: TOptions, undos: (() => void)[]) => void,
): (options: TOptions) => () => void {
  let current: Instrumentation | null = null;
  return (options) => {
    current ??= begun(options, instrument);
    const instrumentation = current;
    instrumentation.users += 1;
    let isUser = true;
    return () => {
      if (!isUser) return;
      isUser = false;
      instrumentation.users -= 1;
      if (instrumentation.users > 0) return;
      current = null;
      undoAll(instrumentation.undos);
    };
  };
}

function begun<TOptions>(
  options: TOptions,
  instrument: (options: TOptions, undos: (() => void)[]) => void,
): Instrumentation {
  const undos: (() => void)[] = [];
  try {
    instrument(options, undos);
  } catch (error) {
    undoAll(undos);
    throw error;
  }
  return { users: 0, undos };
}

function undoAll(undos: (() => void)[]): void {
  for (const undo of undos.splice(0).reverse()) undo();
}
