import { AgentLightningError } from '../base/agent-lightning-error.ts';
import { errorMessage } from '../base/error-message.ts';

/** The active instrumentation and its number of users. */
interface Instrumentation {
  users: number;
  readonly undos: readonly (() => void)[];
}

/** Instruments a framework and adds the undo function of each part to `undos`. */
export type Instrument<TOptions> = (options: TOptions, undos: (() => void)[]) => void;

/**
 * Instruments a framework at most once per process, even with two copies of the adapter: the options of the first call
 * apply, and the last undo takes effect.
 *
 * Instrumentation errors do not stop the application: when `instrument` throws, its completed parts are undone, one
 * warning with the remedy is emitted, and agents run untraced.
 *
 * @param name - the adapter's name: `langchain`
 * @returns a function that instruments, unless that is done, and returns the undo, which is safe to call more than once
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
    const undos = holder[key]?.undos ?? tryInstrument(name, () => done(options, instrument));
    if (undos === null) return () => {};
    holder[key] ??= { users: 0, undos };
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

/**
 * Runs an instrumentation function.
 *
 * @returns its result; null when it threw, which is emitted as one warning with the remedy
 */
export function tryInstrument<TResult>(name: string, instrument: () => TResult): TResult | null {
  try {
    return instrument();
  } catch (error) {
    const remedy = AgentLightningError.isInstance(error) ? error.remedy : 'Report this with the versions in use.';
    const message = errorMessage(error).replace(/\.$/, '');
    warnOnce(`Failed to activate @agentlightning/${name}; agents run without it. ${message}`, remedy);
    return null;
  }
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

const warned = new Set<string>();

/**
 * Emits a process warning about a failed operation of an adapter, once: adapter failures must not fail the agent.
 *
 * @param what - the failed operation; each value is emitted once
 * @param cause - the error, or the remedy
 */
export function warnOnce(what: string, cause: unknown): void {
  if (warned.has(what)) return;
  warned.add(what);
  globalThis.process?.emitWarning?.(`${what}: ${errorMessage(cause)}`, 'AgentLightningWarning');
}

/** Runs a function whose errors must not reach the agent; they are emitted as warnings. */
export function quietly(what: string, run: () => void): void {
  try {
    run();
  } catch (error) {
    warnOnce(what, error);
  }
}
