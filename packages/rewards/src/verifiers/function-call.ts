import { jsonOf } from '../base/fenced-block.ts';
import { type OutputOptions, partSettings, type ScoredPart, selectOutput, shown, verdict } from '../base/part.ts';

/** A call that is right: the accepted values of each argument. An empty text among them makes the argument optional. */
export interface AcceptedCall {
  /** The name of the function. */
  readonly name: string;
  /** The accepted values by argument. Those of an object list the accepted values of each of its keys. */
  readonly arguments: Readonly<Record<string, readonly unknown[]>>;
}

interface GivenCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/**
 * 1 if the output has exactly the expected function calls, else 0. Arguments are compared by value, by the rules of the
 * Berkeley function-calling leaderboard: one of the accepted values, texts without case, spaces and punctuation, optional
 * arguments, calls in any order. The output is a call or a list of calls, as objects of OpenAI's API or the AI SDK, or JSON text.
 *
 * @param expected - the calls; an empty list expects that no function is called
 * @example
 * ```ts
 * functionCall(() => [{ name: 'weather', arguments: { city: ['Paris', 'Paris, France'], unit: ['celsius', ''] } }]);
 * ```
 */
export function functionCall<TTask, TOutput = unknown>(
  expected: (task: TTask) => AcceptedCall | readonly AcceptedCall[],
  options: OutputOptions<TOutput> = {},
): ScoredPart<TTask, TOutput> {
  return {
    ...partSettings(options),
    score: async ({ task, output }) => {
      const wanted = [expected(task)].flat() as readonly AcceptedCall[];
      const calls = callsOf(selectOutput(output, options.output));
      if (calls === null) return verdict(wanted.length === 0, 'no function call');
      if (calls.length !== wanted.length) return verdict(false, `expected ${wanted.length} calls, got ${calls.length}`);
      return matchCalls(wanted, calls);
    },
  };
}

/** Assigns each call to an accepted one, in any order. */
function matchCalls(wanted: readonly AcceptedCall[], calls: readonly GivenCall[]): ReturnType<typeof verdict> {
  const assigned = assign(wanted, calls);
  if (assigned) return verdict(true, `${calls.length} calls are right`);
  const [first] = wanted;
  const [call] = calls;
  const problem = first === undefined || call === undefined ? null : callProblem(call, first);
  return verdict(false, wanted.length === 1 && problem !== null ? problem : `wrong calls: ${shown(calls)}`);
}

function assign(wanted: readonly AcceptedCall[], calls: readonly GivenCall[]): boolean {
  const [call, ...others] = calls;
  if (call === undefined) return true;
  return wanted.some(
    (candidate, index) =>
      callProblem(call, candidate) === null &&
      assign(
        wanted.filter((_, other) => other !== index),
        others,
      ),
  );
}

/** The first difference between a call and an accepted one; null without. */
function callProblem(call: GivenCall, accepted: AcceptedCall): string | null {
  if (apiName(call.name) !== apiName(accepted.name)) return `expected ${accepted.name}, got ${call.name}`;
  for (const [name, choices] of Object.entries(accepted.arguments)) {
    const value = call.arguments[name];
    if (value === undefined) {
      if (!choices.includes('')) return `argument ${name} is missing`;
    } else if (!choices.some((choice) => isAccepted(value, choice))) {
      return `argument ${name} is ${shown(value)}, accepted are ${shown(choices)}`;
    }
  }
  const unknown = Object.keys(call.arguments).find((name) => !Object.hasOwn(accepted.arguments, name));
  return unknown === undefined ? null : `argument ${unknown} is not expected`;
}

/** The name of a function in OpenAI's API, which does not allow dots. */
function apiName(name: string): string {
  return name.replaceAll('.', '_');
}

function isAccepted(value: unknown, choice: unknown): boolean {
  if (typeof value === 'string' && typeof choice === 'string') return standardise(value) === standardise(choice);
  if (Array.isArray(value)) {
    return (
      Array.isArray(choice) &&
      value.length === choice.length &&
      value.every((item, index) => isAccepted(item, choice[index]))
    );
  }
  if (isRecord(value)) return isRecord(choice) && isAcceptedRecord(value, choice);
  return value === choice;
}

function isAcceptedRecord(
  value: Readonly<Record<string, unknown>>,
  accepted: Readonly<Record<string, unknown>>,
): boolean {
  const hasAccepted = Object.entries(accepted).every(([key, choices]) => {
    const list: readonly unknown[] = Array.isArray(choices) ? choices : [choices];
    return Object.hasOwn(value, key) ? list.some((choice) => isAccepted(value[key], choice)) : list.includes('');
  });
  return hasAccepted && Object.keys(value).every((key) => Object.hasOwn(accepted, key));
}

/** A text without spaces, punctuation and case. */
function standardise(text: string): string {
  return text
    .replaceAll(/[ ,./\-_*^]/g, '')
    .toLowerCase()
    .replaceAll("'", '"');
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The calls of an output in any of the known forms; null if it is not a call. */
function callsOf(output: unknown): readonly GivenCall[] | null {
  let value: unknown;
  try {
    value = jsonOf(output);
  } catch {
    // A text without a call.
    return null;
  }
  if (isRecord(value)) {
    const list = value['tool_calls'] ?? value['toolCalls'];
    if (Array.isArray(list)) return callsOf(list);
  }
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const calls = list.map(callOf);
  return calls.every((call) => call !== null) ? calls : null;
}

function callOf(value: unknown): GivenCall | null {
  if (!isRecord(value)) return null;
  const call = isRecord(value['function']) ? value['function'] : value;
  const name = call['name'] ?? call['toolName'];
  if (typeof name !== 'string') return null;
  const given = call['arguments'] ?? call['input'] ?? call['args'] ?? {};
  try {
    const parsed: unknown = typeof given === 'string' ? JSON.parse(given) : given;
    return isRecord(parsed) ? { name, arguments: parsed } : null;
  } catch {
    // Arguments that are not JSON: not a valid call.
    return null;
  }
}
