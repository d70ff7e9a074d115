import type { BfclTask, FunctionDescription } from '../task.ts';
import { isAccepted } from './accepted-argument.ts';
import { isDict, isList, type PythonValue, parsePython } from './python-value.ts';

/** A call of a function. */
export interface FunctionCall {
  readonly name: string;
  /** The arguments as JSON text. */
  readonly arguments: string;
}

/** The judgement of the calls for a task. */
export interface CheckedCalls {
  /** The measure of the leaderboard. */
  readonly isCorrect: boolean;
  /** The share of what is right, between 0 and 1: the decision to call, the function, each argument. */
  readonly progress: number;
}

/** The name of a function in OpenAI's API, which does not allow dots. */
export function apiName(name: string): string {
  return name.replaceAll('.', '_');
}

/** Compares the calls of a model with the right one, by the rules of the leaderboard for single calls in Python. */
export function checkCalls({ functions, expected }: BfclTask, calls: readonly FunctionCall[]): CheckedCalls {
  if (expected === null) return { isCorrect: calls.length === 0, progress: calls.length === 0 ? 1 : 0 };
  const [call] = calls;
  if (call === undefined) return { isCorrect: false, progress: 0 };
  const [name, accepted] = expectedCall(expected);
  const description = functions.find((candidate) => candidate.name === name);
  const given = argumentsOf(call);
  if (description === undefined || given === null || call.name !== apiName(name)) {
    return { isCorrect: false, progress: 0.2 };
  }
  const share = correctShare(given, accepted, description);
  return { isCorrect: calls.length === 1 && share === 1, progress: 0.4 + 0.6 * share };
}

type Arguments = Readonly<Record<string, PythonValue>>;

function expectedCall(json: string): readonly [name: string, accepted: Arguments] {
  const value = parsePython(json);
  const [entry] = Object.entries(isDict(value) ? value : {});
  return entry === undefined || !isDict(entry[1]) ? ['', {}] : [entry[0], entry[1]];
}

function argumentsOf(call: FunctionCall): Arguments | null {
  try {
    const value = parsePython(call.arguments);
    return isDict(value) ? value : null;
  } catch {
    // The model's text is not JSON: an incorrect call.
    return null;
  }
}

/** The share of parameters, given or accepted, whose argument is accepted; an optional one may be absent. */
function correctShare(given: Arguments, accepted: Arguments, { parameters }: FunctionDescription): number {
  const names = new Set([...Object.keys(given), ...Object.keys(accepted), ...parameters.required]);
  const correct = [...names].filter((name) => {
    const choices = accepted[name];
    const value = given[name];
    if (value === undefined) {
      return !parameters.required.includes(name) && choices !== undefined && isList(choices) && choices.includes('');
    }
    const parameter = parameters.properties[name];
    if (parameter === undefined || choices === undefined || !isList(choices)) return false;
    return isAccepted(value, parameter, choices);
  });
  return names.size === 0 ? 1 : correct.length / names.size;
}
