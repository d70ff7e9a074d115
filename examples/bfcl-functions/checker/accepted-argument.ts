import type { Parameter } from '../task.ts';
import { Float, isDict, isList, type PythonType, type PythonValue, pythonEquals, pythonType } from './python-value.ts';

/** The Python type of each type name of the benchmark. */
const pythonTypes: Readonly<Record<string, PythonType>> = {
  string: 'str',
  integer: 'int',
  float: 'float',
  boolean: 'bool',
  array: 'list',
  tuple: 'list',
  dict: 'dict',
  any: 'str',
};

/** Whether an argument has the type of its parameter and one of the accepted values, by the rules of the leaderboard for Python. */
export function isAccepted(given: PythonValue, parameter: Parameter, accepted: readonly PythonValue[]): boolean {
  const isSequence = parameter.type === 'array' || parameter.type === 'tuple';
  const expected = pythonTypes[parameter.type] ?? 'str';
  const nested = isSequence ? (pythonTypes[parameter.items?.type ?? ''] ?? null) : null;
  // The leaderboard converts integers to floats.
  const value = parameter.type === 'float' && typeof given === 'number' ? new Float(given) : given;
  const match = typeMatch(value, { expected, nested, accepted });
  if (match === 'none') return false;
  if (match === 'exact') {
    if (expected === 'dict') return isDict(value) && accepted.some((one) => one !== '' && isAcceptedDict(value, one));
    if (expected === 'list' && nested === 'dict') return accepted.some((one) => isAcceptedListOfDicts(value, one));
    if (expected === 'str') {
      return accepted.some((one) => typeof one === 'string' && standardise(one) === standardise(value));
    }
    if (expected === 'list') {
      const items = standardItems(value);
      return accepted.some((one) => pythonEquals(standardItems(one), items));
    }
  }
  return accepted.some((one) => pythonEquals(one, value));
}

interface ExpectedType {
  readonly expected: PythonType;
  /** The type of the items of a sequence. */
  readonly nested: PythonType | null;
  readonly accepted: readonly PythonValue[];
}

/**
 * Whether a value has the expected type. `variable` is a value of the type of the accepted ones, which the benchmark has for names of
 * variables; it is only compared.
 */
function typeMatch(value: PythonValue, { expected, nested, accepted }: ExpectedType): 'exact' | 'variable' | 'none' {
  const first = accepted.find((one) => one !== '');
  const acceptedType = first === undefined ? null : pythonType(first);
  if (pythonType(value) === expected) {
    if (nested !== null && !accepted.some((one) => haveType(value, one, nested))) return 'none';
    return acceptedType !== null && acceptedType !== expected ? 'variable' : 'exact';
  }
  return acceptedType !== null && pythonType(value) === acceptedType ? 'variable' : 'none';
}

/** Whether all items of a list have the nested type, or that of the items of an accepted list. */
function haveType(value: PythonValue, accepted: PythonValue, nested: PythonType): boolean {
  if (!isList(accepted)) return true;
  if (!isList(value)) return false;
  return value.every((item) => typeMatch(item, { expected: nested, nested: null, accepted }) !== 'none');
}

function isAcceptedDict(value: PythonValue, accepted: PythonValue): boolean {
  if (!isDict(value) || !isDict(accepted)) return false;
  const hasOnlyAccepted = Object.entries(value).every(([key, item]) => {
    const choices = accepted[key];
    if (choices === undefined || !isList(choices)) return false;
    const standard = standardise(item);
    return choices.some((choice) => pythonEquals(standardise(choice), standard));
  });
  const isOptional = (choices: PythonValue): boolean => isList(choices) && choices.includes('');
  return hasOnlyAccepted && Object.entries(accepted).every(([key, choices]) => key in value || isOptional(choices));
}

function isAcceptedListOfDicts(value: PythonValue, accepted: PythonValue): boolean {
  // An accepted empty text is an empty list, as in Python.
  const dicts = accepted === '' ? [] : accepted;
  if (!isList(value) || !isList(dicts) || value.length !== dicts.length) return false;
  return value.every((item, index) => {
    const one = dicts[index] ?? null;
    return one !== '' && isAcceptedDict(item, one);
  });
}

/** The items of a list in their compared form. A text is the list of its characters, as in Python. */
function standardItems(value: PythonValue): readonly PythonValue[] {
  if (typeof value === 'string') return [...value].map(standardise);
  return isList(value) ? value.map(standardise) : [];
}

/** A text without spaces, punctuation and case; other values unchanged. */
function standardise(value: PythonValue): PythonValue {
  return typeof value === 'string'
    ? value
        .replace(/[ ,./\-_*^]/g, '')
        .toLowerCase()
        .replaceAll("'", '"')
    : value;
}
