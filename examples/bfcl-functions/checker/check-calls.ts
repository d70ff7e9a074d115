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
  /** What is wrong, without what would be right; null for a correct call. */
  readonly problem: string | null;
}

/** The name of a function in OpenAI's API, which does not allow dots. */
export function apiName(name: string): string {
  return name.replaceAll('.', '_');
}

/** Compares the calls of a model with the right one, by the rules of the leaderboard for single calls in Python. */
export function checkCalls({ functions, expected }: BfclTask, calls: readonly FunctionCall[]): CheckedCalls {
  if (expected === null) return decision(calls.length === 0, 'No function fits the question. Do not call one.');
  const [call] = calls;
  if (call === undefined) return decision(false, 'No function was called. Call one.');
  const [name, accepted] = expectedCall(expected);
  const description = functions.find((candidate) => candidate.name === name);
  if (description === undefined || call.name !== apiName(name)) {
    return { isCorrect: false, progress: 0.2, problem: `${call.name} is not the right function.` };
  }
  const given = argumentsOf(call);
  if (given === null) return { isCorrect: false, progress: 0.2, problem: 'The arguments are not valid JSON.' };
  const { share, problems } = checkArguments(given, accepted, description);
  const extra = calls.length === 1 ? [] : ['More than one function was called.'];
  const problem = [...problems, ...extra].join(' ');
  return { isCorrect: problem === '', progress: 0.4 + 0.6 * share, problem: problem === '' ? null : problem };
}

function decision(isRight: boolean, problem: string): CheckedCalls {
  return { isCorrect: isRight, progress: isRight ? 1 : 0, problem: isRight ? null : problem };
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

/** The share of parameters, given or accepted, whose argument is accepted, and what is wrong with the others; an optional one may be absent. */
function checkArguments(
  given: Arguments,
  accepted: Arguments,
  { parameters }: FunctionDescription,
): { readonly share: number; readonly problems: readonly string[] } {
  const names = new Set([...Object.keys(given), ...Object.keys(accepted), ...parameters.required]);
  const problems = [...names].flatMap((name) => {
    const choices = accepted[name];
    const value = given[name];
    if (value === undefined) {
      const isOptional =
        !parameters.required.includes(name) && choices !== undefined && isList(choices) && choices.includes('');
      return isOptional ? [] : [`The argument ${name} is missing.`];
    }
    const parameter = parameters.properties[name];
    if (parameter === undefined) return [`There is no parameter ${name}.`];
    const isRight = choices !== undefined && isList(choices) && isAccepted(value, parameter, choices);
    return isRight ? [] : [`The argument ${name} is wrong.`];
  });
  return { share: names.size === 0 ? 1 : (names.size - problems.length) / names.size, problems };
}
